/** Speech, transcripts and voices of ElevenLabs: the stub called by the service's own client, then by our adapter. */
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SpeechOrder } from '../../../../providers/shared/mediaProvider.ts';
import { silentMp3, testWav } from '../../../stubs/elevenlabsAudio.ts';
import { STUB_TRANSCRIPT, STUB_VOICE } from '../../../stubs/elevenlabsForms.ts';
import { failureOf } from '../../chatRequest.ts';
import { sdkClient, sdkFailure } from '../callElevenLabs.ts';
import { heard, type MediaDesk, openDesk, TEXT } from './callMedia.ts';

let desk: MediaDesk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

describe('the service’s own client', () => {
  it('streams speech', async () => {
    const order = { text: TEXT, modelId: 'eleven_turbo_v2_5', outputFormat: 'pcm_24000' } as const;
    const stream = await sdkClient(desk.stub).textToSpeech.stream('9BWtsMINqrJLrRacOk9x', order);
    const audio = Buffer.from(await new Response(stream).arrayBuffer());
    expect(audio).toEqual(testWav(2).subarray(44));
    const wrong = sdkClient(desk.stub).textToSpeech.stream('nobody', order);
    expect((await sdkFailure(wrong)).status).toBe(404);
  });

  it('transcribes', async () => {
    const file = new Blob([Uint8Array.from(await readFile(desk.recording.path))], { type: 'audio/wav' });
    const transcript = await sdkClient(desk.stub).speechToText.convert({ modelId: 'scribe_v2', file });
    expect(transcript).toMatchObject({
      text: STUB_TRANSCRIPT,
      words: [{ text: 'Hello', type: 'word' }, {}, {}],
    });
    const wrong = sdkClient(desk.stub).speechToText.convert({ modelId: 'scribe_v0', file });
    expect((await sdkFailure(wrong)).status).toBe(400);
  });

  it('clones a voice', async () => {
    const file = new Blob([Uint8Array.from(await readFile(desk.recording.path))], { type: 'audio/wav' });
    const voice = await sdkClient(desk.stub).voices.ivc.create({ name: 'Mine', files: [file] });
    expect(voice.voiceId).toBe(STUB_VOICE);
  });
});

describe('speech', () => {
  it.each([
    ['mp3', 'mp3_44100_128'],
    ['opus', 'opus_48000_64'],
    ['pcm', 'pcm_24000'],
    ['wav', 'wav_24000'],
  ] as const)('requests %s as %s', async (format, outputFormat) => {
    const audio = await heard(await desk.speak({ format }));
    if (format === 'mp3') expect(audio).toEqual(silentMp3(2));
    if (format === 'wav') expect(audio).toEqual(testWav(2));
    expect(audio.length).toBeGreaterThan(3_000);
    expect(desk.stub.generated).toMatchObject([{ outputFormat, voiceId: '9BWtsMINqrJLrRacOk9x' }]);
  });

  it('accepts the older voice that the catalogue names', async () => {
    await heard(await desk.speak({ voice: 'Rachel' }));
    expect(desk.stub.generated).toMatchObject([{ voiceId: '21m00Tcm4TlvDq8ikWAM' }]);
  });

  it.each<[Partial<SpeechOrder>, object]>([
    [{ speed: 1.1 }, { voice_settings: { speed: 1.1 } }],
    [{ language: 'de' }, { language_code: 'de' }],
    [{ language: 'German' }, { language_code: 'de' }],
    [{ language: 'pt-BR' }, { language_code: 'pt' }],
    [{ language: 'Klingon' }, {}],
    [{ language: 'de', upstreamModel: 'eleven_multilingual_v2' }, {}],
  ])('maps %j to %j', async (change, fields) => {
    await heard(await desk.speak(change));
    const model_id = change.upstreamModel ?? 'eleven_turbo_v2_5';
    expect(desk.stub.generated[0]?.body).toEqual({ text: TEXT, model_id, ...fields });
  });

  it.each([
    [{ format: 'flac' }, 'The model does not speak in flac.'],
    [{ voice: '../voices' }, 'The voice id is malformed.'],
  ] as const)('with %j is refused before it is sent', async (change, words) => {
    expect(await failureOf(desk.speak(change))).toMatchObject({ reason: 'refused', words });
    expect(desk.stub.asked()).toBe(0);
  });

  it("at an unsupported speed is refused with the service's message", async () => {
    const failure = await failureOf(desk.speak({ speed: 3 }));
    expect(failure).toMatchObject({ reason: 'refused', status: 400 });
    expect(failure.words).toContain('speed');
  });
});

describe('a transcript', () => {
  it('contains the words without the spacing between them', async () => {
    const transcript = await desk.transcribe({ timestamps: true, language: 'en' });
    const words = [
      { word: 'Hello', start: 0, end: 0.42 },
      { word: 'there.', start: 0.5, end: 0.9 },
    ];
    expect(transcript).toEqual({ text: STUB_TRANSCRIPT, words });
    const fields = { model_id: 'scribe_v2', language_code: 'en', timestamps_granularity: 'word' };
    const file = { name: 'file', filename: 'recording.wav', type: 'audio/wav', bytes: testWav(1).length };
    expect(desk.stub.forms).toMatchObject([{ fields: { ...fields, tag_audio_events: 'false' }, files: [file] }]);
  });

  it('is only text when no timestamps were requested', async () => {
    expect(await desk.transcribe()).toEqual({ text: STUB_TRANSCRIPT });
    expect(desk.stub.forms[0]?.fields.timestamps_granularity).toBe('none');
  });
});

describe('a voice', () => {
  it('is made of a recording under a name that identifies no customer', async () => {
    expect(await desk.clone()).toBe(STUB_VOICE);
    const [form] = desk.stub.forms;
    expect(form?.files).toMatchObject([{ name: 'files', filename: 'recording.wav' }]);
    expect(form?.fields.name).toMatch(/^farebox-[0-9a-f-]{36}$/);
  });

  it('is refused when the service requires a verification by the speaker', async () => {
    const body = JSON.stringify({ voice_id: STUB_VOICE, requires_verification: true });
    desk.stub.next.push({ kind: 'ok', contentType: 'application/json', body });
    expect(await failureOf(desk.clone())).toMatchObject({ reason: 'refused' });
  });
});

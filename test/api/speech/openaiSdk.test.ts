/** The published OpenAI SDK with only its address changed: transcripts and speech. */
import { createReadStream, readFileSync } from 'node:fs';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { JFK } from '../../engines/media/recordings.ts';
import { type SpeechWorld, startSpeechWorld } from './speechWorld.ts';

let world: SpeechWorld;
let client: OpenAI;

beforeAll(async () => {
  world = await startSpeechWorld();
  client = new OpenAI({ baseURL: world.api.baseUrl, apiKey: world.key, maxRetries: 0 });
});
beforeEach(() => world.reset());
afterAll(() => world.close());

const WHISPER = 'openai/whisper-large-v3';
const TEXT = 'Ask not what your country can do for you.';

describe('the OpenAI SDK', () => {
  it('gets a transcript, from a file stream with all fields that the SDK knows', async () => {
    const transcript = await client.audio.transcriptions.create({
      ...{ file: createReadStream(JFK), model: WHISPER, response_format: 'json' as const },
      ...{ language: 'en', prompt: 'A speech.', temperature: 0.2 },
      timestamp_granularities: ['word', 'segment'],
    });
    expect(transcript.text).toBe(TEXT);
    expect((await world.spent()).at(-1)).toBe(`${WHISPER}-asr-second 1100000`);
  });

  it('gets a transcript as text', async () => {
    const file = await toFile(readFileSync(JFK), 'jfk.flac');
    const text = await client.audio.transcriptions.create({ file, model: WHISPER, response_format: 'text' });
    expect(text).toBe(TEXT);
  });

  it('gets complete speech', async () => {
    const speech = await client.audio.speech.create({
      ...{
        model: 'tts-kokoro',
        voice: 'af_sky',
        input: 'Mind the gap.',
        response_format: 'wav',
        speed: 1.25,
      },
    });
    expect(speech.headers.get('content-type')).toBe('audio/wav');
    expect(Buffer.from(await speech.arrayBuffer()).toString()).toBe('spoken words');
  });

  it('gets streamed speech', async () => {
    const asked = { model: 'tts-kokoro', voice: 'af_sky', input: 'Mind the gap.', streaming: true };
    const speech = await client.audio.speech.create(asked);
    const pieces: Uint8Array[] = [];
    for await (const piece of speech.body as unknown as AsyncIterable<Uint8Array>) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe('spoken words');
  });
});

describe('the events of speech', () => {
  it('are those that the OpenAI SDK documents', async () => {
    const asked = { model: 'tts-kokoro', voice: 'af_sky', input: 'Mind the gap.', stream_format: 'sse' as const };
    const speech = await client.audio.speech.create({ ...asked, instructions: 'Calm.' });
    expect(speech.headers.get('content-type')).toBe('text/event-stream');
    expect(await speech.text()).toContain('event: speech.audio.delta\ndata: {"type":"speech.audio.delta","audio":"');
  });
});

describe('the errors of the OpenAI SDK', () => {
  const say = (more: object = {}) =>
    client.audio.speech.create({ model: 'tts-kokoro', voice: 'af_sky', input: 'Hi', ...more });
  const hear = async (bytes: Buffer, more: object = {}) =>
    await client.audio.transcriptions.create({ file: await toFile(bytes, 'a.mp3'), model: WHISPER, ...more });

  it('BadRequestError for an invalid value and for an invalid recording', async () => {
    await expect(say({ speed: 9 })).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(hear(Buffer.from('words'))).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    const verbose = hear(readFileSync(JFK), { response_format: 'verbose_json' });
    await expect(verbose).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });

  it('NotFoundError for an unknown model', async () => {
    await expect(say({ model: 'tts-none' })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(hear(readFileSync(JFK), { model: 'whisper-none' })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  it('AuthenticationError, UnprocessableEntityError, RateLimitError and InternalServerError', async () => {
    const stranger = client.withOptions({ apiKey: 'sk-none' });
    const unknown = stranger.audio.speech.create({ model: 'tts-kokoro', voice: 'af_sky', input: 'Hi' });
    await expect(unknown).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    world.script.failure = new UpstreamFailure({
      reason: 'refused',
      detail: 'x',
      message: 'No speech in it',
    });
    await expect(hear(readFileSync(JFK))).rejects.toBeInstanceOf(OpenAI.UnprocessableEntityError);
    world.script.failure = new UpstreamFailure({ reason: 'overloaded', detail: 'x' });
    await expect(say()).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    world.script.failure = new UpstreamFailure({ reason: 'failed', detail: 'x' });
    await expect(say()).rejects.toMatchObject({ status: 502 });
    await expect(say()).rejects.toBeInstanceOf(OpenAI.InternalServerError);
  });
});

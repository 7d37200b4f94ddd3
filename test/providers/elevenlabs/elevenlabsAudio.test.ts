import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BUILT_IN_MODELS } from '../../../domain/catalogue/catalogue.ts';
import { placeModels } from '../../../domain/catalogue/placeModels.ts';
import { createElevenLabs } from '../../../providers/elevenlabs/elevenlabs.ts';
import { type ElevenLabsStub, startElevenLabsStub } from '../../stubs/elevenlabs.ts';
import { silentMp3 } from '../../stubs/elevenlabsAudio.ts';
import { SUGGESTED_PROMPT } from '../../stubs/elevenlabsRules.ts';
import { configured } from '../configured.ts';
import {
  type Call,
  type Caller,
  createCaller,
  effect,
  MUSIC,
  music,
  SOUND,
  SPEECH,
  SPEECH_V3,
  sdkClient,
  sdkFailure,
  speech,
} from './callElevenLabs.ts';

const ARIA = '9BWtsMINqrJLrRacOk9x';

let stub: ElevenLabsStub;
let caller: Caller;
beforeAll(async () => {
  caller = await createCaller();
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startElevenLabsStub();
});
afterEach(() => stub.close());

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  return Buffer.from(await new Response(stream).arrayBuffer());
}

describe("the stub's audio endpoints, called by the service's own SDK", () => {
  it('speaks a text and parses every field', async () => {
    const stream = await sdkClient(stub).textToSpeech.convert(ARIA, {
      text: 'Guten Tag. '.repeat(3),
      modelId: SPEECH_V3,
      languageCode: 'de',
      voiceSettings: { speed: 1.1, stability: 0.5 },
      outputFormat: 'mp3_44100_128',
    });
    expect(await bytesOf(stream)).toEqual(silentMp3(2));
    expect(stub.generated).toEqual([
      {
        operation: 'text-to-speech',
        voiceId: ARIA,
        outputFormat: 'mp3_44100_128',
        body: {
          text: 'Guten Tag. Guten Tag. Guten Tag. ',
          model_id: SPEECH_V3,
          language_code: 'de',
          voice_settings: { speed: 1.1, stability: 0.5 },
        },
      },
    ]);
  });

  it('composes music of the requested length', async () => {
    const stream = await sdkClient(stub).music.compose({
      prompt: 'A slow waltz',
      musicLengthMs: 3_000,
      modelId: 'music_v2',
      forceInstrumental: true,
    });
    expect(await bytesOf(stream)).toEqual(silentMp3(3));
    expect(stub.generated).toMatchObject([
      {
        operation: 'music',
        body: { music_length_ms: 3_000, model_id: 'music_v2', force_instrumental: true },
      },
    ]);
  });

  it('makes a looping sound of half a second', async () => {
    const stream = await sdkClient(stub).textToSoundEffects.convert({
      text: 'A drop',
      durationSeconds: 0.5,
      loop: true,
      promptInfluence: 0.7,
    });
    expect(await bytesOf(stream)).toEqual(silentMp3(0.5));
    expect(stub.generated).toMatchObject([
      { operation: 'sound-generation', body: { duration_seconds: 0.5, loop: true, prompt_influence: 0.7 } },
    ]);
  });

  const speak = (change: object) =>
    sdkClient(stub).textToSpeech.convert(ARIA, { text: 'Hello', modelId: SPEECH, ...change });
  const compose = (change: object) => sdkClient(stub).music.compose({ prompt: 'A waltz', ...change });
  const sound = (change: object) => sdkClient(stub).textToSoundEffects.convert({ text: 'Rain', ...change });
  const refusals: [string, () => PromiseLike<unknown>, number, object][] = [
    ['a text too long', () => speak({ text: 'a'.repeat(10_001) }), 400, { code: 'max_character_limit_exceeded' }],
    ['a language of v2', () => speak({ languageCode: 'en' }), 400, { code: 'unsupported_language' }],
    ['a hurry', () => speak({ voiceSettings: { speed: 1.3 } }), 400, { code: 'invalid_voice_settings' }],
    ['an unknown model', () => speak({ modelId: 'eleven_none' }), 400, { code: 'model_not_found' }],
    ['a format of a better plan', () => speak({ outputFormat: 'mp3_44100_192' }), 403, {}],
    ['music of two seconds', () => compose({ musicLengthMs: 2_000 }), 422, [{ loc: ['body', 'music_length_ms'] }]],
    ['music of nothing', () => sdkClient(stub).music.compose({}), 422, [{ loc: ['body'] }]],
    [
      'music of somebody else',
      () => compose({ prompt: "A song like 'Bohemian Rhapsody'" }),
      400,
      { code: 'bad_request', status: 'bad_prompt', data: { prompt_suggestion: SUGGESTED_PROMPT } },
    ],
    ['a plan of somebody else', () => compose({ prompt: 'in the style of' }), 400, { status: 'bad_composition_plan' }],
    ['a sound of 31 seconds', () => sound({ durationSeconds: 31 }), 422, [{ loc: ['body', 'duration_seconds'] }]],
    ['a sound too long to read', () => sound({ text: 'a'.repeat(451) }), 400, { code: 'max_character_limit_exceeded' }],
  ];
  it.each(refusals)('refuses %s', async (_, work, status, detail) => {
    expect(await sdkFailure(work())).toMatchObject({ status, detail });
    expect(stub.generated).toHaveLength(0);
  });

  it('refuses an unknown voice and a wrong key', async () => {
    const nobody = sdkClient(stub).textToSpeech.convert('nobody', { text: 'Hello' });
    expect(await sdkFailure(nobody)).toMatchObject({ status: 404, detail: { code: 'voice_not_found' } });
    const stranger = sdkClient(stub, 'wrong').music.compose({ prompt: 'A waltz' });
    expect(await sdkFailure(stranger)).toMatchObject({ status: 401, detail: { code: 'invalid_api_key' } });
  });

  it('answers both kinds of 429, and reports the concurrency in every answer', async () => {
    stub.settings.maximumConcurrent = 0;
    expect(await sdkFailure(compose({}))).toMatchObject({
      status: 429,
      detail: { code: 'concurrent_limit_exceeded' },
    });
    stub.settings.errors = 'legacy';
    expect(await sdkFailure(sound({}))).toMatchObject({
      status: 429,
      detail: { status: 'too_many_concurrent_requests' },
    });
    stub.settings.systemBusy = true;
    expect(await sdkFailure(speak({}))).toMatchObject({ status: 429, detail: { status: 'system_busy' } });
    stub.settings = { ...stub.settings, systemBusy: false, maximumConcurrent: 3 };
    const { rawResponse } = await sdkClient(stub).music.compose({ prompt: 'A waltz' }).withRawResponse();
    expect(rawResponse.headers.get('maximum-concurrent-requests')).toBe('3');
  });

  it('ends a call when its client disconnects', async () => {
    stub.next.push({ kind: 'hang' });
    const abort = new AbortController();
    const left = Promise.resolve(sdkClient(stub).music.compose({ prompt: 'A waltz' }, { abortSignal: abort.signal }));
    const leaving = expect
      .poll(() => stub.generated.length)
      .toBe(1)
      .then(() => abort.abort());
    await expect(left).rejects.toThrow();
    await leaving;
    expect(stub.generated).toHaveLength(1);
  });
});

const run = (call: Call) => caller.run(stub, call);

describe('an order of audio', () => {
  const sent: [string, Call, object][] = [
    [
      'speech with a voice by name and a speed',
      speech({ prompt: 'Hello.', speed: 0.7 }),
      {
        operation: 'text-to-speech',
        voiceId: ARIA,
        body: { text: 'Hello.', model_id: SPEECH, voice_settings: { speed: 0.7 } },
      },
    ],
    [
      'speech with a voice by id in a language',
      speech({
        upstreamModel: SPEECH_V3,
        voice: 'ownVoice000000000001',
        languageCode: 'de',
        prompt: 'Hallo.',
      }),
      {
        operation: 'text-to-speech',
        voiceId: 'ownVoice000000000001',
        body: { text: 'Hallo.', model_id: SPEECH_V3, language_code: 'de' },
      },
    ],
    [
      'music of a length without a singer',
      music({ prompt: 'A waltz.', durationSeconds: 60, forceInstrumental: true }),
      {
        operation: 'music',
        voiceId: undefined,
        body: { prompt: 'A waltz.', model_id: MUSIC, music_length_ms: 60_000, force_instrumental: true },
      },
    ],
    [
      'music of any length',
      music({ prompt: 'A waltz.', forceInstrumental: false }),
      {
        operation: 'music',
        voiceId: undefined,
        body: { prompt: 'A waltz.', model_id: MUSIC, force_instrumental: false },
      },
    ],
    [
      'a sound that loops',
      effect({ prompt: 'Rain.', durationSeconds: 30, loop: true }),
      {
        operation: 'sound-generation',
        voiceId: undefined,
        body: { text: 'Rain.', model_id: SOUND, duration_seconds: 30, loop: true },
      },
    ],
  ];
  it.each(sent)("for %s is sent in the service's format", async (_, call, expected) => {
    expect((await run(call)).status).toBe('done');
    expect(stub.generated).toEqual([{ outputFormat: 'mp3_44100_128', ...expected }]);
  });

  it("returns the service's audio and the details that the service reported", async () => {
    const outcome = await run(music({ durationSeconds: 600 }));
    if (outcome.status !== 'done') throw new Error(JSON.stringify(outcome));
    expect(outcome.output.contentType).toBe('audio/mpeg');
    expect((await readFile(outcome.output.path)).equals(silentMp3(600))).toBe(true);
    expect(outcome.output.providerReference).toBe(
      'elevenlabs request-id=req-1 current-concurrent-requests=1 maximum-concurrent-requests=5',
    );
  });

  const impossible: [string, Call][] = [
    ['a voice that is no id', speech({ voice: '../voices' })],
    ['no voice for a speaker', { audio: { upstreamModel: SPEECH } }],
    ['lyrics', music({ lyrics: 'La la la' })],
    ['an optimizer of lyrics', music({ lyricsOptimizer: true })],
    ['a loop of music', music({ loop: true })],
    ['a length of speech', speech({ durationSeconds: 5 })],
    ['a voice for a sound', effect({ voice: 'Aria' })],
    ['a speed of music', music({ speed: 1 })],
  ];
  it.each(impossible)('with %s is refused before anything is sent', async (_, call) => {
    expect(await run(call)).toMatchObject({ status: 'refused', reason: 'refused' });
    expect(stub.generated).toHaveLength(0);
  });

  it('is neither repeatable nor findable afterwards', () => {
    const provider = createElevenLabs({ apiKey: 'k' });
    expect(provider).toMatchObject({ repeatable: false });
    expect([provider.find, provider.check, provider.cancel]).toEqual([undefined, undefined, undefined]);
  });

  it("fits every built-in model of the service within the model's own rules", async () => {
    const placed = placeModels(BUILT_IN_MODELS, configured({ elevenlabs: { kind: 'elevenlabs' } }));
    const models = placed.filter((model) => model.provider === 'elevenlabs' && model.kind === 'music');
    expect(models).toHaveLength(4);
    for (const { upstreamModel = '', spec } of models.flatMap((model) => (model.kind === 'music' ? [model] : []))) {
      for (const [seconds, speed] of [
        [spec.min_duration, spec.min_speed],
        [spec.max_duration, spec.max_speed],
        [spec.default_duration, undefined],
      ]) {
        const outcome = await run({
          audio: {
            upstreamModel,
            prompt: 'a'.repeat(spec.prompt_character_limit ?? 0),
            ...(seconds !== undefined && { durationSeconds: seconds }),
            ...(speed !== undefined && { speed }),
            ...(spec.default_voice !== undefined && { voice: spec.default_voice }),
            ...(spec.supports_language_code && { languageCode: 'en' }),
            ...(spec.supports_loop && { loop: true }),
            ...(spec.supports_force_instrumental && { forceInstrumental: true }),
          },
        });
        expect([upstreamModel, outcome.status]).toEqual([upstreamModel, 'done']);
      }
      const tooLong = 'a'.repeat((spec.prompt_character_limit ?? 0) + 1);
      const voice = spec.default_voice === undefined ? {} : { voice: spec.default_voice };
      expect(await run({ audio: { upstreamModel, prompt: tooLong, ...voice } })).toMatchObject({
        reason: 'refused',
      });
    }
  });
});

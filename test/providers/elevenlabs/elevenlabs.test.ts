import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ELEVENLABS_VOICE_CHANGER } from '../../../domain/catalogue/voiceChangers.ts';
import { createElevenLabs } from '../../../providers/elevenlabs/elevenlabs.ts';
import { DEFAULT_VOICES } from '../../../providers/elevenlabs/voices.ts';
import { type ElevenLabsStub, startElevenLabsStub } from '../../stubs/elevenlabs.ts';
import { silentMp3 } from '../../stubs/elevenlabsAudio.ts';
import type { StubBehaviour } from '../../stubs/elevenlabsFaults.ts';
import { type Call, type Caller, createCaller, STS_MODEL, sdkClient, sdkFailure } from './callElevenLabs.ts';

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

describe("the stub, called by the service's own SDK", () => {
  function convert(change: { seed?: number; voice?: string; modelId?: string } = {}, apiKey?: string) {
    const { voice = ARIA, modelId = STS_MODEL, ...rest } = change;
    const request = {
      audio: createReadStream(caller.sourcePath),
      modelId,
      removeBackgroundNoise: true,
      ...rest,
    };
    return sdkClient(stub, apiKey).speechToSpeech.convert(voice, {
      ...request,
      outputFormat: 'mp3_44100_128',
    });
  }

  it('converts a recording and parses every field', async () => {
    const audio = Buffer.from(await new Response(await convert({ seed: 7 })).arrayBuffer());
    expect(audio.subarray(0, 2)).toEqual(Buffer.from([0xff, 0xfb]));
    expect(stub.accepted).toMatchObject([
      {
        voiceId: ARIA,
        modelId: STS_MODEL,
        seed: 7,
        removeBackgroundNoise: true,
        audioBytes: 32_044,
        streamed: false,
      },
    ]);
  });

  it('streams a conversion', async () => {
    const stream = await sdkClient(stub).speechToSpeech.stream(ARIA, {
      audio: createReadStream(caller.sourcePath),
    });
    const audio = Buffer.from(await new Response(stream).arrayBuffer());
    expect(audio.length).toBe(silentMp3(2).length);
    expect(stub.accepted).toMatchObject([{ streamed: true, modelId: 'eleven_english_sts_v2' }]);
  });

  it('shows a voice and lists voices', async () => {
    const { voices } = await sdkClient(stub).voices.getAll();
    expect(voices.find((voice) => voice.voiceId === ARIA)?.name).toBe('Aria');
    expect(await sdkClient(stub).voices.get(ARIA)).toMatchObject({ voiceId: ARIA, category: 'premade' });
    expect(await sdkFailure(sdkClient(stub).voices.get('nobody'))).toMatchObject({
      status: 404,
      detail: { status: 'voice_not_found' },
    });
  });

  it('refuses a wrong key, an unknown voice, wrong fields and an empty account', async () => {
    expect(await sdkFailure(convert({}, 'wrong'))).toMatchObject({
      status: 401,
      detail: { code: 'invalid_api_key' },
    });
    expect(await sdkFailure(convert({ voice: 'nobody' }))).toMatchObject({
      status: 404,
      detail: { code: 'voice_not_found' },
    });
    expect(await sdkFailure(convert({ seed: -1 }))).toMatchObject({
      status: 422,
      detail: [{ loc: ['body', 'seed'] }],
    });
    stub.settings.quotaLeftSeconds = 1;
    expect(await sdkFailure(convert())).toMatchObject({ status: 401, detail: { code: 'quota_exceeded' } });
    expect(stub.accepted).toHaveLength(0);
  });

  it('answers both kinds of 429, with the concurrency headers', async () => {
    stub.settings.maximumConcurrent = 0;
    expect(await sdkFailure(convert())).toMatchObject({
      status: 429,
      detail: { code: 'concurrent_limit_exceeded' },
    });
    stub.settings.errors = 'legacy';
    expect(await sdkFailure(convert())).toMatchObject({
      status: 429,
      detail: { status: 'too_many_concurrent_requests' },
    });
    stub.settings.systemBusy = true;
    expect(await sdkFailure(convert())).toMatchObject({ status: 429, detail: { status: 'system_busy' } });
    stub.settings = { ...stub.settings, systemBusy: false, maximumConcurrent: 3 };
    const { rawResponse } = await convert().withRawResponse();
    expect(rawResponse.headers.get('maximum-concurrent-requests')).toBe('3');
  });
});

const run = (call?: Call) => caller.run(stub, call);
const runWith = (behaviour: StubBehaviour, call?: Call) => caller.runWith(stub, behaviour, call);

describe('an order', () => {
  it("is sent in the service's format, and its audio is delivered", async () => {
    const outcome = await run({ order: { seed: 11, removeBackgroundNoise: true, voice: 'Roger' } });
    if (outcome.status !== 'done') throw new Error(JSON.stringify(outcome));
    expect(outcome.output.contentType).toBe('audio/mpeg');
    expect(await readFile(outcome.output.path)).toEqual(silentMp3(2));
    expect(stub.accepted).toEqual([
      {
        voiceId: 'CwhRBWXzGAHq8TQ4Fs17',
        modelId: STS_MODEL,
        seed: 11,
        removeBackgroundNoise: true,
        fileFormat: 'other',
        outputFormat: 'mp3_44100_128',
        audioBytes: 32_044,
        audioType: 'audio/wav',
        streamed: false,
      },
    ]);
    expect(outcome.output.providerReference).toBe(
      'elevenlabs request-id=req-1 current-concurrent-requests=1 maximum-concurrent-requests=5',
    );
  });

  it('sends no seed without one, and reduces a seed above 32 bits to the accepted range', async () => {
    await run();
    await run({ order: { seed: 2 ** 32 + 5 } });
    expect(stub.accepted.map((conversion) => conversion.seed)).toEqual([undefined, 5]);
  });

  it("accepts the id of a voice of the operator's account", async () => {
    expect((await run({ order: { voice: 'ownVoice000000000001' } })).status).toBe('done');
  });

  it('reaches the service under a base URL with or without the version', async () => {
    expect((await run({ options: { baseUrl: `${stub.baseUrl}/v1/` } })).status).toBe('done');
  });

  it('never leaves the conversion path, whatever the name of the voice', async () => {
    for (const voice of ['../voices', '..', 'a/b', '', 'x'.repeat(61), 'a?b', '%2e%2e']) {
      expect(await run({ order: { voice } })).toMatchObject({ status: 'refused', reason: 'refused' });
    }
    expect(stub.accepted).toHaveLength(0);
  });

  it('maps exactly the listed voices', () => {
    expect(Object.keys(DEFAULT_VOICES).sort()).toEqual([...ELEVENLABS_VOICE_CHANGER.voices].sort());
    expect(new Set(Object.values(DEFAULT_VOICES)).size).toBe(ELEVENLABS_VOICE_CHANGER.voices.length);
  });

  it('is neither repeatable nor findable afterwards', () => {
    const provider = createElevenLabs({ apiKey: 'k' });
    expect(provider.repeatable).toBe(false);
    expect(provider.find).toBeUndefined();
  });
});

describe('a refusal', () => {
  it("of an unknown voice is a client error with the service's message", async () => {
    for (const errors of ['current', 'legacy'] as const) {
      stub.settings.errors = errors;
      expect(await run({ order: { voice: 'nobody' } })).toMatchObject({
        status: 'refused',
        reason: 'refused',
        message: expect.stringContaining('nobody'),
        detail: expect.stringContaining('voice_not_found'),
        files: [],
      });
    }
  });

  it('of the key, the quota or the plan is an operator error without details for the client', async () => {
    const wrong = await run({ options: { apiKey: 'wrong' } });
    stub.settings.quotaLeftSeconds = 0;
    for (const outcome of [wrong, await run()]) {
      expect(outcome).toMatchObject({ status: 'refused', reason: 'credential' });
      expect(outcome).toHaveProperty('message', expect.not.stringMatching(/quota|key/i));
    }
    const replies = [401, 402, 403].map((status) => ({ kind: 'reply', status, body: '<html>no</html>' }) as const);
    for (const reply of replies) expect(await runWith(reply)).toMatchObject({ reason: 'credential' });
  });

  it("of a plan is a client error when the order names another account's voice", async () => {
    const plan = {
      kind: 'reply',
      status: 402,
      body: { detail: { status: 'payment_required', message: 'No.' } },
    };
    const custom = await runWith(plan as StubBehaviour, { order: { voice: 'libraryVoice00000001' } });
    expect(custom).toMatchObject({ status: 'refused', reason: 'refused' });
    expect(await runWith(plan as StubBehaviour)).toMatchObject({ status: 'refused', reason: 'credential' });
  });

  it('names the wrong fields on one bounded line', async () => {
    const detail = [{ loc: ['body', 'audio'], msg: `bad\n\u0000${'x'.repeat(1_000)}`, type: 'value_error' }];
    const outcome = await runWith({ kind: 'reply', status: 422, body: { detail } });
    if (outcome.status !== 'refused') throw new Error(outcome.status);
    expect(outcome.reason).toBe('refused');
    expect(outcome.message).toMatch(/^body\.audio: bad x+$/);
    expect(outcome.message.length).toBeLessThanOrEqual(300);
  });

  it('under the content policy is reported with that reason', async () => {
    const detail = { code: 'content_policy_violation', message: 'Not this recording.' };
    expect(await runWith({ kind: 'reply', status: 400, body: { detail } })).toMatchObject({
      status: 'refused',
      reason: 'content_policy',
      message: 'Not this recording.',
    });
  });

  const inFront = [301, 302, 400, 404, 405, 418] as const;
  it.each(inFront)('maps %d from a proxy of the service to a failure', async (status) => {
    const reply = {
      kind: 'reply',
      status,
      body: '<html>gateway</html>',
      headers: { location: '/elsewhere' },
    } as const;
    expect(await runWith(reply)).toMatchObject({ status: 'refused', reason: 'failed' });
  });
});

describe('a service at its limit', () => {
  it('distinguishes our own concurrency limit from a general overload', async () => {
    for (const errors of ['current', 'legacy'] as const) {
      stub.settings = { ...stub.settings, errors, maximumConcurrent: 0, systemBusy: false };
      expect(await run()).toMatchObject({
        status: 'busy',
        reason: 'concurrency',
        detail: expect.stringContaining('maximum-concurrent-requests=0'),
      });
      stub.settings.systemBusy = true;
      expect(await run()).toMatchObject({ status: 'busy', reason: 'overloaded' });
    }
    expect(stub.accepted).toHaveLength(0);
  });

  it('refuses the orders above its limit of concurrent requests', async () => {
    stub.settings = { ...stub.settings, maximumConcurrent: 2 };
    let convert: () => void = () => undefined;
    stub.settings.conversion = new Promise((resolve) => {
      convert = resolve;
    });
    let ended = 0;
    const running = [run(), run(), run(), run()];
    for (const each of running) void each.then(() => (ended += 1));
    await expect.poll(() => ended).toBe(2);
    convert();
    const outcomes = await Promise.all(running);
    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['busy', 'busy', 'done', 'done']);
    expect(stub.accepted).toHaveLength(2);
  });

  const waits: [string | undefined, number | undefined][] = [
    [undefined, undefined],
    ['3', 3_000],
    ['0', 0],
    ['1.5', 1_500],
    ['99999999', 600_000],
    ['-5', undefined],
    ['soon', undefined],
    ['', undefined],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ];
  it.each(waits)('with Retry-After %j yields a retry delay of %j ms', async (value, pauseMs) => {
    const headers = value === undefined ? {} : { 'retry-after': value };
    const outcome = await runWith({ kind: 'reply', status: 429, headers, body: {} });
    expect(outcome).toMatchObject({ status: 'busy', reason: 'rate_limited' });
    expect('retryAfterMs' in outcome ? outcome.retryAfterMs : undefined).toBe(pauseMs);
  });

  it('with a date in Retry-After yields the time until that date', async () => {
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: Math.floor(Date.now() / 1_000) * 1_000 });
    const date = new Date(Date.now() + 30_000).toUTCString();
    const outcome = await runWith({ kind: 'reply', status: 429, headers: { 'retry-after': date } });
    if (outcome.status !== 'busy') throw new Error(outcome.status);
    expect(outcome.retryAfterMs).toBe(30_000);
  });

  it('is an operator error when the 429 is caused by the quota', async () => {
    const body = { detail: { status: 'quota_exceeded', message: 'empty' } };
    expect(await runWith({ kind: 'reply', status: 429, body })).toMatchObject({ reason: 'credential' });
  });
});

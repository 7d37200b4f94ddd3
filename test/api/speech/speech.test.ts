/** POST /audio/speech: complete or streamed audio, charged by the character at its first byte or end. */
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { UpstreamFailure, type UpstreamFailureReason } from '../../../domain/upstreamFailure.ts';
import type { SpeechOrder } from '../../../providers/shared/mediaProvider.ts';
import { type SpeechWorld, startSpeechWorld } from './speechWorld.ts';

let world: SpeechWorld;

beforeAll(async () => {
  world = await startSpeechWorld();
});
beforeEach(() => world.reset());
afterAll(() => world.close());

const speak = (body: object, { key = world.key, headers = {} }: { key?: string; headers?: object } = {}) =>
  world.api.call('/audio/speech', {
    ...{ method: 'POST', key, body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json', ...headers },
  });
const orders = () => world.asked.map(({ order }) => order as SpeechOrder);
const failure = (reason: UpstreamFailureReason) =>
  new UpstreamFailure({ reason, detail: 'internal words', message: 'outer words' });

async function refusalOf(body: object) {
  const before = await world.spent();
  const response = await speak(body);
  const told = (await response.json()) as { error: string; details?: Record<string, unknown> };
  expect([await world.spent(), await world.held(), world.asked]).toEqual([before, 0, []]);
  return { status: response.status, ...told };
}

describe('speech', () => {
  it('comes complete with its length, type and model, by the default model and voice', async () => {
    const before = await world.spent();
    const response = await speak({ input: 'Mind the gap.' });
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe('spoken words');
    const names = ['content-type', 'content-length', 'x-service-model-id', 'x-service-model-router'];
    expect([response.status, ...names.map((name) => response.headers.get(name))]).toEqual([
      ...[200, 'audio/mpeg', '12', 'tts-kokoro', 'openai'],
    ]);
    expect(orders()).toEqual([
      {
        ...{
          upstreamModel: 'tts-kokoro',
          endUser: expect.stringMatching(/^[\w-]{32}$/),
          text: 'Mind the gap.',
        },
        ...{ voice: 'af_sky', format: 'mp3', speed: 1 },
      },
    ]);
    // 13 characters at 3.5 USD per million.
    expect((await world.spent()).slice(before.length)).toEqual(['tts-kokoro-tts-mchar 45500']);
  });

  it('streams its first chunk before the last is made, with the same bytes', async () => {
    let speakOn = () => {};
    world.script.beforeLast = new Promise((resolve) => {
      speakOn = resolve;
    });
    const response = await speak({ input: 'Mind the gap.', streaming: true });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    speakOn();
    const others: Uint8Array[] = [];
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) others.push(next.value);
    expect(Buffer.concat([first?.value ?? Buffer.alloc(0), ...others]).toString()).toBe('spoken words');
    expect([response.headers.get('content-length'), response.headers.get('transfer-encoding')]).toEqual([
      ...[null, 'chunked'],
    ]);
  });

  it('sends events with base64 and the usage for stream_format "sse", and is charged at the end', async () => {
    const before = await world.spent();
    const response = await speak({ input: 'Mind the gap.', stream_format: 'sse' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const events = (await response.text())
      .split('\n\n')
      .filter((event) => event !== '')
      .map((event) => JSON.parse(event.replace(/^event: .*\ndata: /, '')));
    const usage = { input_tokens: 4, output_tokens: 0, total_tokens: 4 };
    expect(events.at(-1)).toEqual({ type: 'speech.audio.done', usage });
    const pieces = events.slice(0, -1).map(({ audio }) => Buffer.from(audio, 'base64'));
    expect(Buffer.concat(pieces).toString()).toBe('spoken words');
    expect((await world.spent()).slice(before.length)).toEqual(['tts-kokoro-tts-mchar 45500']);
  });

  it('takes instructions for the style of prompt', async () => {
    expect((await speak({ input: 'Hi', instructions: 'Whisper.' })).status).toBe(200);
    expect(orders()).toMatchObject([{ style: 'Whisper.' }]);
  });

  it('refuses instructions beside a prompt', async () => {
    expect(await refusalOf({ input: 'Hi', instructions: 'Whisper.', prompt: 'Shout.' })).toMatchObject({ status: 400 });
  });

  it.each([
    ['mp3', 'audio/mpeg'],
    ['opus', 'audio/opus'],
    ['aac', 'audio/aac'],
    ['flac', 'audio/flac'],
    ['wav', 'audio/wav'],
    ['pcm', 'audio/pcm'],
  ])('as %s is %s', async (response_format, type) => {
    for (const streaming of [false, true]) {
      const response = await speak({ input: 'Hi', response_format, streaming });
      await response.arrayBuffer();
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
    }
    expect(orders().map(({ format }) => format)).toEqual([response_format, response_format]);
  });

  it('passes every field of the request to the provider', async () => {
    const fields = { speed: 1.5, language: 'en', temperature: 0.5, top_p: 0.9, prompt: 'warmly' };
    await (await speak({ input: 'Hi', model: 'tts-elevenlabs-turbo-v2-5', voice: 'abc123', ...fields })).text();
    expect(orders()[0]).toMatchObject({
      ...{ text: 'Hi', voice: 'abc123', format: 'mp3', speed: 1.5, language: 'en' },
      ...{ temperature: 0.5, topP: 0.9, style: 'warmly' },
    });
  });

  it('is billed by code points, up to 4,096 of them', async () => {
    const before = await world.spent();
    expect((await speak({ input: `a${'😀'.repeat(4_095)}` })).status).toBe(200);
    // 4,096 characters at 3.5 USD per million.
    await expect.poll(() => world.spent()).toEqual([...before, 'tts-kokoro-tts-mchar 14336000']);
  });

  it('by a deprecated model names its replacement', async () => {
    const response = await speak({ input: 'Hi', model: 'tts-listed' });
    await response.arrayBuffer();
    const names = ['x-service-deprecated', 'x-service-deprecated-replacement'];
    expect(names.map((name) => response.headers.get(name))).toEqual(['true', 'tts-kokoro']);
  });

  it('returns the price in a dry run', async () => {
    const response = await speak({ input: 'Mind the gap.' }, { headers: { 'x-service-dry-run': 'true' } });
    expect(await response.json()).toEqual({ object: 'dry_run', cost: { usd: 0.0000455, diem: 0.0000455 } });
    expect(world.asked).toEqual([]);
  });
});

describe('a request that is refused before any charge:', () => {
  it.each<[string, object, number, string]>([
    ['no input', {}, 400, 'Invalid request parameters'],
    ['an empty input', { input: '' }, 400, 'Invalid request parameters'],
    ['4097 characters', { input: 'a'.repeat(4_097) }, 400, 'Invalid request parameters'],
    ['nothing but signs', { input: ' …?! —\n' }, 400, 'Input must contain speakable text'],
    ['nothing but emoji', { input: '😀' }, 400, 'Input must contain speakable text'],
    ['a field that nobody knows', { input: 'Hi', pitch: 2 }, 400, 'Invalid request parameters'],
    ['a format that nobody knows', { input: 'Hi', response_format: 'ogg' }, 400, 'Invalid request parameters'],
    [
      'a format that the model has not',
      { input: 'Hi', model: 'tts-orpheus', response_format: 'mp3' },
      ...[400, 'Invalid request parameters'],
    ] as [string, object, number, string],
    ['a speed of 0', { input: 'Hi', speed: 0 }, 400, 'Invalid request parameters'],
    ['a speed of 5', { input: 'Hi', speed: 5 }, 400, 'Invalid request parameters'],
    ['a language of one letter', { input: 'Hi', language: 'e' }, 400, 'Invalid request parameters'],
    ['a prompt of 501', { input: 'Hi', prompt: 'a'.repeat(501) }, 400, 'Invalid request parameters'],
    ['a temperature of 3', { input: 'Hi', temperature: 3 }, 400, 'Invalid request parameters'],
    ['a top_p of 2', { input: 'Hi', top_p: 2 }, 400, 'Invalid request parameters'],
    ['a voice of 513', { input: 'Hi', voice: 'a'.repeat(513) }, 400, 'Invalid request parameters'],
    ['a voice that is a path', { input: 'Hi', voice: '../../v1' }, 400, 'Invalid request parameters'],
    ['a handle that never was', { input: 'Hi', voice: 'vv_1' }, 400, 'Invalid request parameters'],
    ['a model of another kind', { input: 'Hi', model: 'openai/whisper-large-v3' }, 400, 'Invalid request parameters'],
    ['a model that nobody has', { input: 'Hi', model: 'tts-none' }, 404, 'Specified model not found'],
    ['a model that is no text', { input: 'Hi', model: 1 }, 400, 'model must be a string'],
  ])('%s', async (_name, body, status, words) => {
    const refused = await refusalOf(body);
    expect(refused.status).toBe(status);
    expect(refused.error).toContain(words);
  });

  it('a request that the provider cannot fulfil', async () => {
    world.script.refusal = new FareboxError({ code: 'unsupported_feature', message: 'Not in this language' });
    const { status, error } = await refusalOf({ input: 'Hi' });
    expect([status, error]).toEqual([400, 'Not in this language']);
  });

  it('a voice that the model lacks, with the list of its voices', async () => {
    const refused = await refusalOf({ input: 'Hi', model: 'tts-listed', voice: 'Cem' });
    expect([refused.status, refused.details?.supported_voices]).toEqual([400, ['Ann', 'Bob']]);
    const taken = await speak({ input: 'Hi', model: 'tts-listed', voice: 'Ann' });
    expect([taken.status, await taken.text()]).toEqual([200, 'spoken words']);
  });

  it('a key that may not call the model, and an account without credit', async () => {
    const { secret } = await world.api.fundedKey('INFERENCE', { models: ['tts-orpheus'] });
    expect((await speak({ input: 'Hi' }, { key: secret })).status).toBe(403);
    const { secret: closed } = await world.api.fundedKey('INFERENCE', { modelPrivacy: 'PRIVATE_ONLY' });
    expect((await speak({ input: 'Hi', model: 'tts-xai-v1' }, { key: closed })).status).toBe(403);
    const { key } = await world.newAccount(10n);
    expect((await speak({ input: 'Hi there' }, { key })).status).toBe(402);
    expect(world.asked).toEqual([]);
  });
});

describe('no charge when the service', () => {
  it.each<[UpstreamFailureReason, number]>([
    ['failed', 502],
    ['garbage', 502],
    ['lost', 502],
    ['refused', 400],
    ['content_policy', 422],
    ['overloaded', 429],
    ['unreachable', 503],
    ['timeout', 504],
  ])('%s', async (reason, status) => {
    const before = await world.spent();
    world.script.failure = failure(reason);
    for (const streaming of [false, true]) {
      const response = await speak({ input: 'Hi', streaming });
      expect([response.status, await response.text()]).toEqual([status, expect.not.stringContaining('internal')]);
    }
    expect([await world.spent(), await world.held()]).toEqual([before, 0]);
  });

  it.each([false, true])('sends no sound or breaks before the first (streaming: %s)', async (streaming) => {
    const before = await world.spent();
    world.script.chunks = [];
    expect((await speak({ input: 'Hi', streaming })).status).toBe(502);
    world.script.breaksWith = failure('lost');
    expect((await speak({ input: 'Hi', streaming })).status).toBe(502);
    expect([await world.spent(), await world.held()]).toEqual([before, 0]);
  });

  it('breaks within speech that is sent complete', async () => {
    const before = await world.spent();
    world.script.breaksWith = failure('lost');
    expect((await speak({ input: 'Hi' })).status).toBe(502);
    expect([await world.spent(), await world.held()]).toEqual([before, 0]);
  });
});

it.each([
  ['bytes', { streaming: true }],
  ['events', { stream_format: 'sse' }],
])('a stream of %s that breaks after its first sound is visibly cut and costs nothing', async (_name, form) => {
  const before = await world.spent();
  world.script.breaksWith = failure('lost');
  const response = await speak({ input: 'Hi', ...form });
  expect(response.status).toBe(200);
  await expect(response.arrayBuffer()).rejects.toThrow();
  await expect.poll(() => world.held()).toBe(0);
  expect(await world.spent()).toEqual(before);
});

it('a stream is charged at its end and not before', async () => {
  const before = await world.spent();
  world.script.pauseMs = 200;
  const response = await speak({ input: 'Mind the gap.', streaming: true });
  const reader = response.body?.getReader();
  await reader?.read();
  expect([await world.spent(), await world.held()]).toEqual([before, 1]);
  while (!(await reader?.read())?.done);
  expect([await world.spent(), await world.held()]).toEqual([...[[...before, 'tts-kokoro-tts-mchar 45500'], 0]]);
});

describe('a client that goes away', () => {
  /** Disconnects before the answer or at its first byte. */
  function leave(when: 'before' | 'after', streaming: boolean): Promise<void> {
    return new Promise((resolve) => {
      const calling = request(
        `${world.api.baseUrl}/audio/speech`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
        },
        (response) => {
          response.once('data', () => {
            calling.destroy();
            resolve();
          });
        },
      );
      calling.on('error', () => undefined);
      calling.end(JSON.stringify({ input: 'Mind the gap.', streaming }));
      if (when === 'after') return;
      const timer = setInterval(() => {
        if (world.asked.length === 0) return;
        clearInterval(timer);
        calling.destroy();
        resolve();
      }, 10);
    });
  }

  it.each([false, true])('before the first byte pays nothing (streaming: %s)', async (streaming) => {
    const before = await world.spent();
    world.script.pauseMs = 1_500;
    await leave('before', streaming);
    await expect.poll(() => world.asked[0]?.context.signal.aborted).toBe(true);
    await expect.poll(() => world.held()).toBe(0);
    expect(await world.spent()).toEqual(before);
  });

  it('within speech that is sent complete pays', async () => {
    const before = await world.spent();
    world.script.chunks = Array.from({ length: 50 }, () => Buffer.alloc(1_000_000, 1));
    await leave('after', false);
    await expect.poll(() => world.spent()).toEqual([...before, 'tts-kokoro-tts-mchar 45500']);
    await expect.poll(() => world.held()).toBe(0);
  });

  it('after the first byte of a stream pays', async () => {
    const before = await world.spent();
    world.script.chunks = Array.from({ length: 50 }, () => Buffer.alloc(1_000, 1));
    world.script.pauseMs = 100;
    await leave('after', true);
    await expect.poll(() => world.spent()).toEqual([...before, 'tts-kokoro-tts-mchar 45500']);
    await expect.poll(() => world.asked[0]?.context.signal.aborted).toBe(true);
    await expect.poll(() => world.held()).toBe(0);
  });
});

it('leaves no file behind after any call', async () => {
  await (await speak({ input: 'Hi' })).arrayBuffer();
  await (await speak({ input: 'Hi', streaming: true })).arrayBuffer();
  world.script.failure = failure('failed');
  await speak({ input: 'Hi' });
  const root = world.api.opened.dependencies.providers.folders.root;
  await expect.poll(() => readdirSync(root)).toEqual([]);
});

it('the limit per minute is that of the model type', async () => {
  const { key } = await world.newAccount();
  const { dependencies } = world.api.opened;
  const usual = dependencies.limits.calls.overrideOf;
  dependencies.limits.calls.overrideOf = () => ({});
  const response = await speak({ input: 'Hi' }, { key });
  dependencies.limits.calls.overrideOf = usual;
  await response.arrayBuffer();
  expect(response.headers.get('x-ratelimit-limit-requests')).toBe('60');
});

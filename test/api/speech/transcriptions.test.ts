/** POST /audio/transcriptions: every container, the billed length, and the calls without a charge. */
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { countUnpaidReading } from '../../../api/paid/readings.ts';
import { FareboxError } from '../../../domain/errors.ts';
import { UpstreamFailure, type UpstreamFailureReason } from '../../../domain/upstreamFailure.ts';
import type { TranscriptionOrder } from '../../../providers/shared/mediaProvider.ts';
import { ENCODINGS, encode, ffmpeg, JFK, measure, testFolder } from '../../engines/media/recordings.ts';
import { type SpeechWorld, startSpeechWorld } from './speechWorld.ts';

const SKU = 'nvidia/parakeet-tdt-0.6b-v3-asr-second';
const folder = testFolder();
let world: SpeechWorld;

beforeAll(async () => {
  world = await startSpeechWorld();
});
beforeEach(() => world.reset());
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

interface Sent {
  path?: string;
  bytes?: Buffer;
  name?: string;
  type?: string;
  fields?: [string, string][];
  headers?: Record<string, string>;
  key?: string;
}

async function send({ path = JFK, bytes, name = basename(path), type, fields = [], headers, key }: Sent) {
  const form = new FormData();
  for (const [field, value] of fields) form.append(field, value);
  form.append('file', new Blob([bytes ?? readFileSync(path)], { type: type ?? '' }), name);
  const response = await world.api.call('/audio/transcriptions', {
    ...{ method: 'POST', body: form, key: key ?? world.key, headers: headers ?? {} },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : text };
}

const orders = () => world.asked.map(({ order }) => order as TranscriptionOrder);
/** 0.0001 USD per second is 100 nano USD per millisecond. */
const priced = (duration: number) => `${SKU} ${Math.round(duration * 1_000) * 100}`;

describe('a recording, transcribed and charged by its decoded length', () => {
  it.each(ENCODINGS.map((each) => [each.name, each] as const))('as %s', async (_name, encoding) => {
    const path = encode(encoding, { folder, seconds: 3 });
    const before = await world.spent();
    const { status, body } = await send({ path });
    expect([status, body.text]).toEqual([200, world.script.transcript.text]);
    expect(body.duration).toBeGreaterThanOrEqual(3);
    expect(body.duration).toBeLessThan(3.15);
    expect((await world.spent()).slice(before.length)).toEqual([priced(body.duration)]);
    const [order] = orders();
    expect(order?.recording.seconds).toBeCloseTo(body.duration, 2);
    expect(order?.upstreamModel).toBe('nvidia/parakeet-tdt-0.6b-v3');
  });

  it.each([
    ['film.mp4', 'libx264', 'aac'],
    ['mpeg4.mp4', 'mpeg4', 'libmp3lame'],
    ['fragments.mp4', 'libx264', 'aac', '-movflags', '+frag_keyframe+empty_moov'],
    ['film.webm', 'libvpx', 'libopus'],
    ['vp9.webm', 'libvpx-vp9', 'libvorbis'],
  ])('passes on only the sound of a video: %s', async (name, pictures, sound, ...more) => {
    const path = join(folder, name);
    const codecs = ['-c:v', pictures, '-c:a', sound, ...more];
    ffmpeg(['-f', 'lavfi', '-i', 'testsrc=size=64x64:duration=2', '-i', JFK, '-t', '2', ...codecs, path]);
    const kept = keepSource();
    const { status, body } = await send({ path, type: name.endsWith('mp4') ? 'video/mp4' : 'video/webm' });
    expect([status, Math.round(body.duration)]).toEqual([200, 2]);
    const passedOn = await measure(await kept);
    expect(passedOn.ok && [passedOn.audio.hasPictures, Math.round(passedOn.audio.decodedSeconds)]).toEqual([
      ...[false, 2],
    ]);
  });

  it('is measured whatever its name and type say', async () => {
    const { body: truth } = await send({});
    const { status, body } = await send({ name: 'song.wav', type: 'audio/mpeg' });
    expect([status, body]).toEqual([200, truth]);
    expect(orders().map(({ recording }) => recording.contentType)).toEqual(['audio/flac', 'audio/flac']);
  });

  it('is removed with the answer', async () => {
    await send({});
    const [{ context } = { context: { workFolder: '' } }] = world.asked;
    expect(context.workFolder).not.toBe('');
    expect(() => readFileSync(join(context.workFolder, 'recording'))).toThrow('ENOENT');
  });

  /** Resolves with a copy of the file that the provider gets. */
  function keepSource(): Promise<string> {
    return new Promise((resolve) => {
      const { mediaProviders } = world.api.opened.dependencies.providers;
      const provider = mediaProviders.get('openai');
      const transcribe = provider?.transcribe?.bind(provider);
      if (!provider || !transcribe) throw new Error('no provider');
      provider.transcribe = async (order, context) => {
        provider.transcribe = transcribe;
        const copy = join(folder, `copy-${Date.now()}`);
        copyFileSync(order.recording.path, copy);
        resolve(copy);
        return await transcribe(order, context);
      };
    });
  }
});

describe('the answer', () => {
  it('has the timestamps of the model on request', async () => {
    world.script.transcript = {
      text: 'Hi',
      words: [{ word: 'Hi', start: 0, end: 0.5 }],
      segments: [{ text: 'Hi', start: 0, end: 0.5 }],
      chars: [{ char: 'H', start: 0, end: 0.2 }],
    };
    const { words: word, segments: segment, chars: char } = world.script.transcript;
    const asked = await send({ fields: [['timestamps', 'true']] });
    expect(asked.body).toEqual({ text: 'Hi', duration: 11, timestamps: { word, segment, char } });
    expect((await send({ fields: [['timestamps', 'false']] })).body).toEqual({ text: 'Hi', duration: 11 });
    expect(orders().map(({ timestamps }) => timestamps)).toEqual([true, false]);
  });

  it('is plain text on request, at the same price', async () => {
    const before = await world.spent();
    const { status, headers, text } = await send({ fields: [['response_format', 'text']] });
    expect([status, headers.get('content-type'), text]).toEqual([
      ...[200, 'text/plain; charset=utf-8', world.script.transcript.text],
    ]);
    expect((await world.spent()).slice(before.length)).toEqual([priced(11)]);
  });

  it('names its model and provider', async () => {
    const { headers } = await send({ fields: [['model', 'elevenlabs/scribe-v2']] });
    const names = ['x-service-model-id', 'x-service-model-name', 'x-service-model-router'];
    expect(names.map((name) => headers.get(name))).toEqual([
      ...['elevenlabs/scribe-v2', expect.any(String), 'elevenlabs'],
    ]);
    expect(headers.get('x-ratelimit-limit-requests')).toBe('100000');
  });

  it('ignores unknown fields, also repeated ones', async () => {
    const fields: [string, string][] = [
      ...[['temperature', '0'] as [string, string], ['prompt', 'x'] as [string, string]],
      ['timestamp_granularities[]', 'word'],
      ['timestamp_granularities[]', 'segment'],
      ['language', 'EN'],
    ];
    expect((await send({ fields })).status).toBe(200);
    expect(orders()[0]?.language).toBe('en');
  });

  it('is the price in a dry run', async () => {
    const before = await world.spent();
    const { body } = await send({ headers: { 'x-service-dry-run': 'true' } });
    expect(body).toEqual({ object: 'dry_run', cost: { usd: 0.0011, diem: 0.0011 } });
    expect([await world.spent(), world.asked]).toEqual([before, []]);
  });
});

describe('calls without a charge', () => {
  it.each<[UpstreamFailureReason, number]>([
    ['failed', 502],
    ['garbage', 502],
    ['lost', 502],
    ['refused', 422],
    ['content_policy', 422],
    ['rate_limited', 429],
    ['overloaded', 429],
    ['unreachable', 503],
    ['credential', 503],
    ['timeout', 504],
  ])('when the service %s', async (reason, status) => {
    const before = await world.spent();
    world.script.failure = new UpstreamFailure({ reason, detail: 'internal words', message: 'outer words' });
    const { status: told, body, text } = await send({});
    expect([told, Object.keys(body)[0]]).toEqual([status, 'error']);
    expect(text).not.toContain('internal words');
    expect([await world.spent(), await world.held()]).toEqual([before, 0]);
  });

  it('when the client disconnects before the answer, which aborts the service call', async () => {
    const before = await world.spent();
    world.script.pauseMs = 30_000;
    const form = new FormData();
    form.append('file', new Blob([readFileSync(JFK)]), 'jfk.flac');
    const gone = new AbortController();
    const calling = world.api.call('/audio/transcriptions', {
      ...{ method: 'POST', body: form, key: world.key, signal: gone.signal },
    });
    await expect.poll(() => world.asked.length).toBe(1);
    gone.abort();
    await expect(calling).rejects.toThrow();
    await expect.poll(() => world.asked[0]?.context.signal.aborted).toBe(true);
    await expect.poll(() => world.held()).toBe(0);
    expect(await world.spent()).toEqual(before);
  });

  it('when the provider cannot fulfil the request', async () => {
    const before = await world.spent();
    world.script.refusal = new FareboxError({ code: 'media_too_long', message: 'At most a minute' });
    const { status, body } = await send({});
    expect([status, body]).toEqual([422, { error: 'At most a minute' }]);
    expect([await world.spent(), world.asked]).toEqual([before, []]);
  });

  it('when the credit does not cover it, without a request to the service', async () => {
    const { key } = await world.newAccount(1_000n);
    expect((await send({ key })).status).toBe(402);
    expect(world.asked).toEqual([]);
  });
});

describe('an account with unpaid readings of recordings', () => {
  beforeAll(() => {
    world.api.opened.dependencies.limits.calls.overrideOf = () => ({});
  });
  const spent = (status: number, text: string) =>
    expect([status, text]).toEqual([429, expect.stringContaining('media of this account could not be read')]);

  async function accountWith(unpaid: number) {
    const { secret: key, accountId } = await world.api.fundedKey('INFERENCE');
    await countUnpaidReading(world.api.opened.dependencies, accountId, unpaid);
    return key;
  }

  it('is refused after 30 unreadable recordings', async () => {
    const key = await accountWith(29);
    const bytes = Buffer.from('no recording');
    expect((await send({ bytes, name: 'a.wav', key })).status).toBe(400);
    const { status, text } = await send({ key });
    spent(status, text);
  });

  it('is refused after 30 dry runs', async () => {
    const key = await accountWith(29);
    const headers = { 'x-service-dry-run': 'true' };
    expect((await send({ key, headers })).status).toBe(200);
    const { status, text } = await send({ key, headers });
    spent(status, text);
  });

  it('may have any number of paid recordings read', async () => {
    const key = await accountWith(29);
    expect((await send({ key })).status).toBe(200);
    expect((await send({ key })).status).toBe(200);
  });
});

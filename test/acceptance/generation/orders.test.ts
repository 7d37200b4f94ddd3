/** Orders of music, speech and videos over HTTP, with real processes and parts (AUDIO-1, VIDEO-1, JOB-1 to JOB-7). */
import { beforeAll, describe, expect, it } from 'vitest';
import { CONSENT_VERSION } from '../../../api/video/consent.ts';
import { SUGGESTED_PROMPT } from '../../stubs/elevenlabsRules.ts';
import type { Call, Reply } from '../client.ts';
import { eventually } from '../deployment.ts';
import { queueIdOf, untilState } from '../orders.ts';
import { clip, dataUrl, SQUARE } from './media.ts';
import { complete, download, type Order, type Ordered, ordered, outcomeOf, queue, retrieve } from './orders.ts';
import './prices.ts';
import { world } from './sharedWorld.ts';
import { expectNothingLeft } from './world.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MUSIC: Order = { kind: 'audio', body: { model: 'quick-music', prompt: 'A tram at dawn' } };
const VIDEO: Order = { kind: 'video', body: { model: 'bare-video', prompt: 'A tram', duration: '1s' } };
let source = '';
let picture = '';

beforeAll(() => {
  source = dataUrl('video/mp4', clip({ seconds: 1 }));
  picture = world.media.serve('picture.png', SQUARE);
});

const api = () => world.farebox.account.api;

/** Expected media of an order: the first bytes and the response headers. */
interface Made {
  name: string;
  order: () => Order;
  type: string;
  /** Expected bytes in hexadecimal at this offset. */
  signature: [at: number, hex: string];
  format?: string;
}

const RIFF = Buffer.from('RIFF').toString('hex');
const FTYP = Buffer.from('ftyp').toString('hex');

const MADE: Made[] = [
  {
    name: 'simulated music',
    order: () => ({
      kind: 'audio',
      body: { model: 'simulator-music', prompt: 'A tram', duration_seconds: 2, loop: true },
    }),
    ...{ type: 'audio/wav', signature: [0, RIFF], format: 'wav' },
  },
  {
    name: 'speech of this machine',
    order: () => ({
      kind: 'audio',
      body: {
        model: 'local-speech',
        prompt: 'Mind the doors.',
        voice: 'deep',
        speed: 1.5,
        language_code: 'EN',
      },
    }),
    ...{ type: 'audio/mpeg', signature: [0, 'ff'], format: 'mp3' },
  },
  {
    name: 'a simulated video',
    order: () => ({ kind: 'video', body: { ...VIDEO.body, resolution: '256p', aspect_ratio: '1:1' } }),
    ...{ type: 'video/mp4', signature: [4, FTYP] },
  },
  {
    name: 'a video of this machine',
    order: () => ({
      kind: 'video',
      body: {
        ...{ model: 'local-video', prompt: 'A tram', duration: '1s', resolution: '256p', audio: false },
        image_url: picture,
      },
    }),
    ...{ type: 'video/mp4', signature: [4, FTYP] },
  },
  {
    name: 'a video enlarged by this machine',
    order: () => ({ kind: 'video', body: { model: 'local-upscale', video_url: source, upscale_factor: 2 } }),
    ...{ type: 'video/mp4', signature: [4, FTYP] },
  },
];

const LINK = /\/api\/v1\/video\/downloads\/[A-Za-z0-9_-]{54}$/;

describe('orders', () => {
  it.each(MADE)('queue, make, deliver repeatedly and in ranges, and delete $name', async (made) => {
    const order = made.order();
    const { model } = order.body as { model: string };
    const reply = await queue(api(), order);
    const queueId = queueIdOf(reply);
    const queued = order.kind === 'audio' ? { status: 'QUEUED' } : { download_url: expect.stringMatching(LINK) };
    expect(reply.body).toEqual({ model, queue_id: expect.stringMatching(UUID), ...queued });
    const job: Ordered = { kind: order.kind, model, queueId };
    const whole = await outcomeOf(api(), job);
    expectMedia(whole, made, model);
    expect((await retrieve(api(), job)).bytes.equals(whole.bytes)).toBe(true);
    await expectParts(whole, (range) => retrieve(api(), job, { range }));
    const { download_url: url } = reply.body;
    if (url !== undefined) {
      const byLink = await download(String(url));
      expect([byLink.status, byLink.bytes.equals(whole.bytes)]).toEqual([200, true]);
    }
    expect((await complete(api(), job)).body).toEqual({ success: true });
    expect((await retrieve(api(), job)).status).toBe(404);
    if (url !== undefined) expect((await download(String(url))).status).toBe(404);
    expect((await complete(api(), job)).body).toEqual({ success: true });
    await expectNothingLeft(world);
  });
});

function expectMedia(reply: Reply, { type, signature: [at, hex], format }: Made, model: string): void {
  const { headers, bytes } = reply;
  expect([reply.status, headers.get('content-type')]).toEqual([200, type]);
  expect(bytes.subarray(at, at + hex.length / 2).toString('hex')).toBe(hex);
  expect(headers.get('content-length')).toBe(String(bytes.length));
  expect(headers.get('cache-control')).toContain('no-store');
  expect(headers.get('x-service-model-id')).toBe(model);
  expect(headers.get('x-service-model-name')).toBeTruthy();
  expect(Number(headers.get('x-service-inference-time'))).toBeGreaterThan(0);
  expect(headers.get('x-service-audio-format')).toBe(format ?? null);
  if (format) expect(Number(headers.get('x-service-audio-duration'))).toBeGreaterThan(0);
}

async function expectParts(whole: Reply, ask: (range: string) => Promise<Reply>): Promise<void> {
  const size = whole.bytes.length;
  const parts: [string, number, number][] = [
    ['bytes=0-0', 0, 0],
    ['bytes=100-', 100, size - 1],
    ['bytes=-50', size - 50, size - 1],
  ];
  for (const [range, first, last] of parts) {
    const reply = await ask(range);
    expect([reply.status, reply.headers.get('content-range')]).toEqual([206, `bytes ${first}-${last}/${size}`]);
    expect(reply.bytes.equals(whole.bytes.subarray(first, last + 1)), range).toBe(true);
  }
  const outside = await ask(`bytes=${size}-`);
  expect([outside.status, outside.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
}

describe('delete_media_on_completion', () => {
  it.each([MUSIC, VIDEO])('makes a delivery of $kind the last one', async (order) => {
    const job = await ordered(api(), order);
    await untilState(api(), job.queueId, 'stored');
    // A range without the last byte does not complete the job.
    expect((await retrieve(api(), job, { deleteAfter: true, range: 'bytes=0-99' })).status).toBe(206);
    expect((await retrieve(api(), job, { deleteAfter: true })).status).toBe(200);
    expect((await retrieve(api(), job)).status).toBe(404);
    await untilState(api(), job.queueId, 'deleted');
    await expectNothingLeft(world);
  });
});

describe('Idempotency-Key', () => {
  const withPicture: Order = {
    kind: 'video',
    body: { model: 'any-video', prompt: 'A tram', duration: '1s', image_url: dataUrl('image/png', SQUARE) },
  };
  it.each<[string, Order, object]>([
    ['audio', MUSIC, { prompt: 'Another tram' }],
    ['video', VIDEO, { duration: '5s' }],
    ['video with its media', withPicture, { image_url: dataUrl('image/png', Buffer.concat([SQUARE, SQUARE])) }],
  ])('makes one order of equal %s requests, sent later or at once', async (_name, order, change) => {
    const { farebox } = world;
    const key = `key-of-${(order.body as { model: string }).model}`;
    const call: Call = { headers: { 'idempotency-key': key } };
    const before = await farebox.moneyOf(farebox.account);
    const first = await Promise.all(Array.from({ length: 4 }, () => queue(api(), order, call)));
    const paid = await farebox.moneyOf(farebox.account);
    const later = await queue(api(), order, call);
    expect(new Set([...first, later].map(queueIdOf)).size).toBe(1);
    expect(later.body).toEqual(first[0]?.body);
    expect(later.headers.get('idempotent-replayed')).toBe('true');
    expect(first.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    const other = await queue(api(), { ...order, body: { ...order.body, ...change } }, call);
    expect([other.status, typeof other.body.error]).toEqual([400, 'string']);
    expect(paid).toBeLessThan(before);
    expect(await farebox.moneyOf(farebox.account)).toBe(paid);
  });
});

describe('a consent', () => {
  const consents = (given: object = {}) => ({
    consents: {
      seedance: {
        ...{ confirmed_terms_and_privacy: true, confirmed_legal_right: true },
        ...{ confirmed_screening_acknowledged: true, ...given },
      },
    },
  });
  const faces = (more: object): Order => ({
    kind: 'video',
    body: { model: 'face-video', prompt: 'A tram', duration: '1s', ...more },
  });

  it('is required exactly where faces may be shown, and its version is recorded', async () => {
    const { farebox } = world;
    const before = await farebox.moneyOf(farebox.account);
    const media = { end_image_url: picture, reference_image_urls: [picture], image_url: picture };
    const refused = await queue(api(), faces(media));
    expect([refused.status, refused.body]).toEqual([
      409,
      {
        error: { code: 'needs_consent', message: expect.any(String) },
        consent_flow: 'seedance',
        face_media_roles: ['image', 'end_image', 'reference_image'],
        consent: { consent_version: CONSENT_VERSION, policy_text: expect.stringContaining('faces') },
        docs_url: expect.stringMatching(/^http/),
      },
    ]);
    expect((await queue(api(), faces({ ...media, consents: {} }))).status).toBe(409);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    expect(await farebox.objects()).toEqual([]);
    const job = await ordered(api(), faces({ ...media, ...consents() }));
    const { body } = await api().get(`/jobs/${job.queueId}`);
    const timeline = body.timeline as { event: string; detail: string | null }[];
    const consented = timeline.filter(({ event }) => event === 'consented');
    expect(consented.map(({ detail }) => detail)).toEqual([CONSENT_VERSION]);
  });

  it('is not needed for text alone, and a partial one is refused', async () => {
    expect((await queue(api(), faces({}))).status).toBe(200);
    for (const given of [{ confirmed_legal_right: false }, { confirmed_legal_right: 'true' }, { more: true }]) {
      expect((await queue(api(), faces({ image_url: picture, ...consents(given) }))).status).toBe(400);
    }
  });
});

describe('a provider that refuses or delivers no media', () => {
  const verdicts: [string, Order, number, object][] = [
    ['a refused prompt', music('prudish-music'), 422, { error: expect.any(String) }],
    [
      'a refused prompt with another one for it',
      music('elevenlabs-music', "Like 'Bohemian Rhapsody'"),
      422,
      { error: expect.any(String), suggested_prompt: SUGGESTED_PROMPT },
    ],
    ['broken music', music('garbled-music'), 500, { error: expect.any(String), credits_refunded: true }],
    [
      'a refused video',
      film('prudish-video'),
      422,
      {
        error: {
          ...{ message: expect.any(String), type: 'provider_content_policy', credits_refunded: true },
          recommended_model: 'local-video',
        },
      },
    ],
    ['a broken video', film('garbled-video'), 500, { error: expect.any(String), credits_refunded: true }],
  ];
  it.each(verdicts)('causes a refund and the same answer each time: %s', async (_name, order, status, body) => {
    const { farebox } = world;
    const before = await farebox.moneyOf(farebox.account);
    const job = await ordered(api(), order);
    const verdict = await outcomeOf(api(), job);
    expect([verdict.status, verdict.body]).toEqual([status, body]);
    const again = await retrieve(api(), job);
    expect([again.status, again.body]).toEqual([status, verdict.body]);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    await expectNothingLeft(world);
  });
});

function music(model: string, prompt = 'A tram at dawn'): Order {
  return { kind: 'audio', body: { model, prompt } };
}

function film(model: string): Order {
  return { kind: 'video', body: { model, prompt: 'A tram', duration: '1s' } };
}

describe('download_url', () => {
  const linked = film('linked-video');

  it('needs no credential, serves repeatedly and in ranges, and DELETE ends it', async () => {
    const reply = await queue(api(), linked);
    const job: Ordered = { kind: 'video', model: 'linked-video', queueId: queueIdOf(reply) };
    const url = String(reply.body.download_url);
    expect(Object.keys(reply.body).sort()).toEqual(['download_url', 'model', 'queue_id']);
    expect(url).toMatch(LINK);
    expect(url).not.toContain(job.queueId);
    await untilState(api(), job.queueId, 'stored');
    const times = { average_execution_time: expect.any(Number), execution_duration: expect.any(Number) };
    const told = await retrieve(api(), job, { deleteAfter: true });
    expect([told.status, told.body]).toEqual([200, { status: 'COMPLETED', ...times }]);
    const whole = await download(url);
    expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'video/mp4']);
    expect((await download(url)).bytes.equals(whole.bytes)).toBe(true);
    await expectParts(whole, (range) => download(url, { headers: { range } }));
    expect((await download(url, { method: 'DELETE' })).status).toBe(204);
    for (const method of ['GET', 'DELETE']) expect((await download(url, { method })).status, method).toBe(404);
    expect((await retrieve(api(), job)).status).toBe(404);
    await expectNothingLeft(world);
  });

  it('is left out for a model that is not private, whose video retrieve alone delivers', async () => {
    const reply = await queue(api(), film('anonymous-video'));
    expect(Object.keys(reply.body).sort()).toEqual(['model', 'queue_id']);
    const job: Ordered = { kind: 'video', model: 'anonymous-video', queueId: queueIdOf(reply) };
    expect((await outcomeOf(api(), job)).headers.get('content-type')).toBe('video/mp4');
  });

  it('is 404 in every altered spelling and after completion', async () => {
    const endless = await queue(api(), linked);
    const url = String(endless.body.download_url);
    await untilState(api(), queueIdOf(endless), 'stored');
    const [, token = ''] = /\/downloads\/(.*)$/.exec(url) ?? [];
    const letters = [...token];
    const altered = letters.map((letter, at) => letters.with(at, letter === 'A' ? 'B' : 'A').join(''));
    const others = [token.slice(1), `${token}A`, `${token}=`, token.toLowerCase(), `${token}%00`, '..%2f', '%'];
    for (const other of [...altered, ...others]) {
      for (const method of ['GET', 'DELETE']) {
        const { status } = await download(url.replace(token, other), { method });
        expect([400, 404], `${method} ${other}`).toContain(status);
      }
    }
    expect((await download(url)).status).toBe(200);
    const job: Ordered = { kind: 'video', model: 'linked-video', queueId: queueIdOf(endless) };
    expect((await complete(api(), job)).body).toEqual({ success: true });
    expect((await download(url)).status).toBe(404);
  });
});

describe('a job', () => {
  it('is unknown to another account', async () => {
    const { other } = world.farebox;
    for (const order of [MUSIC, VIDEO]) {
      const job = await ordered(api(), order);
      await untilState(api(), job.queueId, 'stored');
      for (const reply of [await retrieve(other.api, job), await complete(other.api, job)]) {
        expect([reply.status, reply.body]).toEqual([400, { error: 'Request ID is invalid.' }]);
      }
      expect((await retrieve(api(), job)).status).toBe(200);
    }
  });

  it('is shown by the routes of its own kind only', async () => {
    const job = await ordered(api(), MUSIC);
    await untilState(api(), job.queueId, 'stored');
    const body = { model: job.model, queue_id: job.queueId };
    for (const path of ['/video/retrieve', '/video/complete', '/audio/voice-changer/retrieve']) {
      expect((await api().post(path, { json: body })).status, path).toBe(400);
    }
    for (const model of ['second-music', 'some-voice', 'bare-video']) {
      expect((await retrieve(api(), { ...job, model })).status, model).toBe(400);
    }
    const running = await ordered(api(), film('slow-video'));
    expect((await retrieve(api(), running)).body).toEqual({
      status: 'PROCESSING',
      average_execution_time: expect.any(Number),
      execution_duration: expect.any(Number),
    });
    expect((await complete(api(), running)).body).toEqual({ success: true });
    const gone = async () => ((await retrieve(api(), running)).status === 404 ? true : undefined);
    await eventually(gone);
  });
});

describe('the deployment at the end', () => {
  it('has no open workflow, object or file', () => expectNothingLeft(world));
});

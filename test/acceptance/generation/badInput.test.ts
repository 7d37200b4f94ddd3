/** Bad input of the audio and video routes gets the documented answer that names the field, and has no other effect. */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { isLong } from '../../engines/media/recordings.ts';
import { stretched } from '../../engines/media/videoFiles.ts';
import type { Call, Reply } from '../client.ts';
import { expectUntouched } from '../untouched.ts';
import { clip, dataUrl } from './media.ts';
import { useWorld } from './world.ts';
import { WRONG_FIELDS, type WrongField } from './wrongFields.ts';
import { insidePlaces, type WrongMedium, wrongDataUrls, wrongFiles, wrongServers } from './wrongMedia.ts';

const world = useWorld();
const MEGABYTE = 1_048_576;
const ORDER = { model: 'any-video', prompt: 'A tram', duration: '5s' };
const TOO_COMPLEX = { error: expect.stringContaining('too complex') };
const KEYFRAMES = JSON.stringify({
  ...ORDER,
  keyframes: Array.from({ length: 10_000 }, (_, index) => ({
    image_url: 'http://a.example/',
    frame_index: index,
  })),
});
const TOO_LARGE = { error: 'Request body exceeds the maximum allowed size.' };

let canary: Server;
let canaryHits = 0;
let whole: Buffer;
let before = { transfers: 0, jobs: 0 };

beforeAll(async () => {
  whole = clip({ seconds: 1 });
  canary = createServer((_request, response) => {
    canaryHits += 1;
    response.end('inside');
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  canary?.closeAllConnections();
  canary?.close();
});

const api = () => world.farebox.account.api;

async function jobs(): Promise<number> {
  return (await world.farebox.pool.query('select from jobs')).rowCount ?? 0;
}

beforeEach(async () => {
  before = { transfers: await world.farebox.transfers(), jobs: await jobs() };
});

afterEach(async () => {
  await expectUntouched(world.farebox, before.transfers);
  expect(await jobs(), 'jobs').toBe(before.jobs);
  expect(canaryHits, 'hits of the canary').toBe(0);
});

/** Paths of the issues in an answer, joined by dots. */
function pointsOf({ body }: Reply): string[] {
  const issues = (body.issues ?? []) as { path: (string | number)[]; keys?: string[] }[];
  return issues.flatMap(({ path, keys = [''] }) =>
    keys.map((key) => [...path, ...(key === '' ? [] : [key])].join('.')),
  );
}

function expectPointing(reply: Reply, at: string): void {
  expect(reply.body.error).toBe('Invalid request parameters');
  const points = pointsOf(reply);
  expect(
    points.filter((point) => point === at || point.startsWith(`${at}.`)),
    at,
  ).not.toEqual([]);
  expect(points.length).toBeLessThanOrEqual(50);
}

function grouped(rows: readonly WrongField[]): Map<string, WrongField[]> {
  const groups = new Map<string, WrongField[]>();
  for (const row of rows) groups.set(row.path, [...(groups.get(row.path) ?? []), row]);
  return groups;
}

function callOf({ body }: WrongField): Call {
  if (typeof body !== 'string') return { json: body };
  return { raw: { bytes: Buffer.from(body), contentType: 'application/json' } };
}

describe('a field', () => {
  const byPath = grouped(WRONG_FIELDS);
  it('is wrong in more than three hundred cases', () => {
    expect(WRONG_FIELDS.length).toBeGreaterThan(300);
  });

  it.each([...byPath])('is refused by name in %s', async (_path, rows) => {
    for (const row of rows) {
      const reply = await api().post(row.path, callOf(row));
      expect(reply.status, row.name).toBe(400);
      expect(() => expectPointing(reply, row.at), row.name).not.toThrow();
      expect(await world.farebox.transfers(), row.name).toBe(before.transfers);
    }
  });

  it('lists the available voices for an unknown voice', async () => {
    const json = { model: 'any-music', prompt: 'A tram', voice: 'nobody' };
    const { body } = await api().post('/audio/queue', { json });
    expect(body.details).toMatchObject({
      supported_voices: ['alto', 'bass'],
      voice: { _errors: [expect.any(String)] },
    });
  });
});

describe('a body', () => {
  const text = (size: number) => JSON.stringify({ ...ORDER, image_url: `data:image/png;base64,${'A'.repeat(size)}` });
  const rows: [string, string, string, number, object][] = [
    ['of 36 MB', '/video/queue', text(36 * MEGABYTE), 413, TOO_LARGE],
    ['of 36 MB', '/video/quote', text(36 * MEGABYTE), 413, TOO_LARGE],
    ['of 3 MB', '/audio/queue', text(3 * MEGABYTE), 413, TOO_LARGE],
    ['of 100 kB', '/audio/quote', text(100_000), 413, TOO_LARGE],
    ['of 100 kB', '/video/retrieve', text(100_000), 413, TOO_LARGE],
    ['of ten thousand key frames', '/video/queue', KEYFRAMES, 400, TOO_COMPLEX],
    ['with NaN', '/video/queue', '{"model":"any-video","duration":NaN}', 400, { error: 'Invalid JSON request' }],
    ['cut', '/video/queue', '{"model":"any-video",', 400, { error: 'Invalid JSON request' }],
    ['without a model', '/audio/queue', '{}', 400, { error: 'model is required' }],
    ['of an unknown model', '/video/queue', '{"model":"no-such"}', 404, { error: 'Specified model not found' }],
    ['of deep lists', '/video/queue', `{"keyframes":${'['.repeat(5_000)}`, 400, { error: expect.any(String) }],
  ];
  it.each(rows)('is refused: %s to %s', async (_name, path, body, status, expected) => {
    const call = { raw: { bytes: Buffer.from(body), contentType: 'application/json' } };
    const reply = await api().post(path, call);
    expect([reply.status, reply.body]).toEqual([status, expect.objectContaining(expected)]);
  });
});

describe('a queue_id', () => {
  const routes = ['audio', 'video'].flatMap((kind) => ['retrieve', 'complete'].map((step) => `/${kind}/${step}`));
  it.each(routes)('is unknown to %s if it names no job, and refused if it is not a string', async (path) => {
    const model = path.startsWith('/audio') ? 'piece-music' : 'bare-video';
    for (const queue_id of [randomUUID(), '', 'x', '../..', "' or 1=1 --", '\u0000', 'ü'.repeat(36)]) {
      const { status, body } = await api().post(path, { json: { model, queue_id } });
      expect([status, body], queue_id).toEqual([400, { error: 'Request ID is invalid.' }]);
    }
    for (const queue_id of [5, null, undefined, [randomUUID()]]) {
      expectPointing(await api().post(path, { json: { model, queue_id } }), 'queue_id');
    }
  });
});

describe('a medium', () => {
  /** Runs six at a time, like a careless client. */
  async function eachOf<Row>(rows: readonly Row[], ask: (row: Row) => Promise<void>): Promise<void> {
    const waiting = [...rows];
    const take = async () => {
      for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) await ask(row);
    };
    await Promise.all(Array.from({ length: 6 }, take));
  }

  async function expectNamed({ name, at, status, fields }: WrongMedium): Promise<void> {
    const reply = await api().post('/video/queue', { json: { ...ORDER, ...fields } });
    const label = `${name} at ${at}: ${reply.bytes.toString('utf8').slice(0, 300)}`;
    expect(reply.status, label).toBe(status);
    expect(reply.body.error, label).toContain(at);
    if (status === 400) expect(pointsOf(reply), label).toContain(at.replaceAll(/\[(\d+)\]/g, '.$1'));
  }

  it('gets one answer and no request if its URL is internal, in any spelling and field', async () => {
    await eachOf(insidePlaces(isLong()), async ({ at, host, fields }) => {
      const reply = await api().post('/video/queue', { json: { ...ORDER, ...fields } });
      const error = `The ${at} could not be fetched.`;
      expect([reply.status, reply.body.error], `${host} at ${at}`).toEqual([400, error]);
    });
  }, 300_000);

  it('gets the same answer on a port of this machine', async () => {
    const { port } = canary.address() as AddressInfo;
    const json = { ...ORDER, image_url: `http://127.0.0.1:${port}/` };
    const { status, body } = await api().post('/video/queue', { json });
    expect([status, body.error]).toEqual([400, 'The image_url could not be fetched.']);
  });

  it("is refused with its field's name if its server fails", async () => {
    await eachOf(wrongServers(world.media), expectNamed);
  });

  it("is refused with its field's name if it is invalid or too large", async () => {
    await eachOf(wrongFiles(world.media, whole), expectNamed);
  });

  it("is refused with its field's name if it is inline and invalid or too large", async () => {
    for (const row of wrongDataUrls()) await expectNamed(row);
  });

  it('is refused if the reference videos are too long together', async () => {
    const url = world.media.serve('reference.mp4', clip({ seconds: 2.5, rate: 4 }));
    const json = { ...ORDER, reference_video_urls: [url, url, url] };
    const reply = await api().post('/video/queue', { json });
    expect([reply.status, pointsOf(reply)]).toEqual([400, ['reference_video_urls']]);
  });

  it('is refused in a quote as in its order', async () => {
    const urls: [string, number][] = [
      ['http://169.254.169.254/', 400],
      [world.media.at('/missing'), 400],
      [world.media.at('/gigabyte'), 413],
      [world.media.at('/web-page'), 400],
      [world.media.serve('long.mp4', stretched(whole, 1_000)), 422],
      [dataUrl('video/mp4', whole.subarray(0, -500)), 400],
    ];
    for (const [video_url, status] of urls) {
      const body = { model: 'upscale-video', video_url };
      const quoted = await api().post('/video/quote', { json: body });
      const queued = await api().post('/video/queue', { json: body });
      expect([quoted.status, quoted.body.error], video_url.slice(0, 60)).toEqual([status, queued.body.error]);
      expect([queued.status, quoted.body.error]).toEqual([status, expect.stringContaining('video_url')]);
    }
  });
});

describe('the deployment afterwards', () => {
  it('has live processes without uncaught errors, and a sound ledger', async () => {
    const { farebox } = world;
    expect((await fetch(`${farebox.origin}/healthz`)).status).toBe(200);
    const metrics = await (await fetch(`${farebox.origin}/metrics`)).text();
    expect(metrics).toMatch(/^farebox_uncaught_errors_total(\{[^}]*\})? 0$/m);
    expect(farebox.worker.logs()).not.toMatch(/"level":(50|60)/);
    expect(await checkLedger(farebox.pool)).toEqual([]);
  });
});

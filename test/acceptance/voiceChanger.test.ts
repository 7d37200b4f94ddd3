/** The whole life of a paid job over HTTP, with real processes and real parts (specification 4.6). */
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { services } from '../harness/services.ts';
import { ROOT } from '../harness/spawn.ts';
import { decodeSamples, fundamentalHz, secondsOf } from '../providers/local/pitch.ts';
import { type ElevenLabsStub, startElevenLabsStub } from '../stubs/elevenlabs.ts';
import { fileOf, type Reply } from './client.ts';
import { type Deployment, eventually, openDeployment } from './deployment.ts';
import { simulatedModels, voiceChanger } from './models.ts';
import {
  complete,
  isProcessing,
  outcomeOf,
  queueFile,
  queueIdOf,
  queueJson,
  retrieve,
  untilState,
} from './orders.ts';
import { toneWav } from './recordings.ts';
import { severable } from './severable.ts';

const JFK = path.join(ROOT, 'test/fixtures/jfk.flac');
const LOCAL = 'local-voice-changer';
const CLOUD = 'elevenlabs-voice-changer';
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let farebox: Deployment;
let files: Server;
let filesUrl: string;
let cloud: ElevenLabsStub;
let configuration: { media?: object; [part: string]: unknown };
const short = toneWav(2);

beforeAll(async () => {
  cloud = await startElevenLabsStub();
  files = createServer((_request, response) => response.end(readFileSync(JFK)));
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
  const fileServer = `127.0.0.1:${(files.address() as AddressInfo).port}`;
  filesUrl = `http://${fileServer}/a%20speech.flac?token=secret-in-the-url`;
  const simulated = simulatedModels({
    'quick-voice': {},
    'slow-voice': { latencyMs: 1_500 },
    'endless-voice': { outcome: 'hang', latencyMs: 600_000 },
    'prudish-voice': { outcome: 'content_policy' },
    'failing-voice': { outcome: 'failed' },
    'garbled-voice': { outcome: 'garbage-output' },
  });
  const elevenlabs = {
    kind: 'elevenlabs',
    baseUrl: cloud.baseUrl,
    apiKeyEnv: 'CLOUD_KEY',
    allowPrivateNetwork: true,
  };
  configuration = {
    providers: {
      simulated: simulated.provider,
      elevenlabs,
      keyless: { kind: 'elevenlabs', apiKeyEnv: 'NOT_SET' },
    },
    models: [...simulated.models, voiceChanger('keyless-voice', 'keyless')],
    fetch: { allowPrivateHosts: [fileServer] },
    jobs: { deadlineMinutes: 10, pollFirstMs: 100, pollLongestMs: 300 },
  };
  farebox = await openDeployment({ configuration, variables: { CLOUD_KEY: cloud.apiKey } });
});

afterAll(async () => {
  await farebox?.close();
  await cloud?.close();
  files?.close();
});

/** Whatever a test did: the books agree. What it kept is given up, so that the next one begins without it. */
afterEach(async () => {
  expect(await checkLedger(farebox.pool)).toEqual([]);
  const { rows } = await farebox.pool.query<{ model: string; queueId: string }>(
    `select model_id as model, queue_id as "queueId" from jobs where state = 'stored'`,
  );
  for (const job of rows) await complete(farebox.account.api, job);
});

async function order(
  model: string,
  fields?: Record<string, string>,
): Promise<{ model: string; queueId: string }> {
  const reply = await queueFile(farebox.account.api, { model, source: short, ...(fields && { fields }) });
  return { model, queueId: queueIdOf(reply) };
}

async function stored(model: string): Promise<{ model: string; queueId: string }> {
  const job = await order(model);
  await untilState(farebox.account.api, job.queueId, 'stored');
  return job;
}

/** The deletion follows the answer by a moment where it was not what was asked for. */
async function expectNothingLeft(): Promise<void> {
  const empty = async () => ((await farebox.objects()).length === 0 ? true : undefined);
  await eventually(empty, 5_000).catch(() => undefined);
  expect(await farebox.objects()).toEqual([]);
}

describe('the quote', () => {
  it('is by the started minute, for numbers, fractions and digits', async () => {
    const quote = async (model: string, seconds: unknown) => {
      const json = { model, duration_seconds: seconds };
      return await farebox.account.api.post('/audio/voice-changer/quote', { json });
    };
    const prices: [string, unknown, unknown][] = [
      [LOCAL, 60, { quote: 0.05, duration_seconds: 60 }],
      [LOCAL, 61, { quote: 0.1, duration_seconds: 61 }],
      [LOCAL, 60.5, { quote: 0.1, duration_seconds: 60.5 }],
      [LOCAL, 0.2, { quote: 0.05, duration_seconds: 0.2 }],
      [LOCAL, '90', { quote: 0.1, duration_seconds: 90 }],
      [LOCAL, 600, { quote: 0.5, duration_seconds: 600 }],
      [CLOUD, 60, { quote: 0.35, duration_seconds: 60 }],
    ];
    for (const [model, seconds, body] of prices) expect((await quote(model, seconds)).body).toEqual(body);
    for (const seconds of [0, -1, 601, 1e300, '1e2', '-5', '', true, null, [60]]) {
      expect((await quote(LOCAL, seconds)).status, JSON.stringify(seconds)).toBe(400);
    }
  });
});

describe('a real recording, sent as a file', () => {
  it('goes in, is measured, charged, changed, stored, delivered, completed and deleted', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const quoted = await api.post('/audio/voice-changer/quote', {
      json: { model: LOCAL, duration_seconds: 11 },
    });
    const answer = await queueFile(api, { model: LOCAL, fields: { voice: 'alto' }, source: fileOf(JFK) });
    expect(answer.body).toEqual({
      model: LOCAL,
      queue_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'QUEUED',
      duration_seconds: 11,
    });
    const job = { model: LOCAL, queueId: queueIdOf(answer) };
    const early = await retrieve(api, job);
    expect(early.body).toEqual({
      status: 'PROCESSING',
      average_execution_time: expect.any(Number),
      execution_duration: expect.any(Number),
    });
    const audio = await outcomeOf(api, job);
    expectAudio(audio, LOCAL);
    expectChangedVoice(audio.bytes, 1.35);
    expect((await retrieve(api, job)).bytes.equals(audio.bytes)).toBe(true);
    expect((await complete(api, job)).body).toEqual({ success: true });
    const after = await retrieve(api, job);
    expect([after.status, typeof after.body.error]).toEqual([404, 'string']);
    expect((await complete(api, job)).body).toEqual({ success: true });
    expect(await farebox.objects()).toEqual([]);
    const paid = before - (await farebox.moneyOf(farebox.account));
    expect(Number(paid) / 1e9).toBe(quoted.body.quote);
    expect(await farebox.temporaryFiles()).toEqual([]);
  });

  it('is the same voice again for the same seed', async () => {
    const { api } = farebox.account;
    const take = async () => {
      const job = await order(LOCAL, { voice: 'robot', seed: '7', remove_background_noise: 'true' });
      const { bytes } = await outcomeOf(api, job);
      await complete(api, job);
      return bytes;
    };
    expect((await take()).equals(await take())).toBe(true);
  });
});

function expectAudio(reply: Reply, model: string): void {
  expect(reply.status).toBe(200);
  const { headers } = reply;
  expect(headers.get('content-type')).toBe('audio/mpeg');
  expect(headers.get('content-length')).toBe(String(reply.bytes.length));
  expect(headers.get('accept-ranges')).toBe('bytes');
  expect(headers.get('cache-control')).toContain('no-store');
  expect(headers.get('x-service-audio-format')).toBe('mp3');
  expect(headers.get('x-service-model-id')).toBe(model);
  expect(headers.get('x-service-model-name')).toBeTruthy();
  expect(Number(headers.get('x-service-inference-time'))).toBeGreaterThan(0);
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
}

function expectChangedVoice(bytes: Buffer, pitchRatio: number): void {
  const file = path.join(services().folder, `${randomUUID()}.mp3`);
  writeFileSync(file, bytes);
  const [changed, source] = [
    decodeSamples(services().ffmpegPath, file),
    decodeSamples(services().ffmpegPath, JFK),
  ];
  expect(Math.abs(secondsOf(changed) - 11)).toBeLessThan(0.2);
  expect(fundamentalHz(changed) / fundamentalHz(source)).toBeGreaterThan(pitchRatio * 0.93);
  expect(fundamentalHz(changed) / fundamentalHz(source)).toBeLessThan(pitchRatio * 1.07);
}

describe('a real recording, named by URL', () => {
  it('is fetched from a host that the operator allowed, and the URL enters no history and no log', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const answer = await queueJson(api, { model: LOCAL, audio_url: filesUrl, voice: 'bass', seed: 1 });
    expect(answer.body).toMatchObject({ status: 'QUEUED', duration_seconds: 11 });
    const job = { model: LOCAL, queueId: queueIdOf(answer) };
    const audio = await outcomeOf(api, job);
    expectAudio(audio, LOCAL);
    expectChangedVoice(audio.bytes, 0.7);
    expect((await complete(api, job)).body).toEqual({ success: true });
    expect((await retrieve(api, job)).status).toBe(404);
    expect(await farebox.objects()).toEqual([]);
    // The day's 0.08 diem is shared by the tests of this file: what counts is both currencies together.
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    expect(await farebox.historyOf(job.queueId)).not.toContain('secret-in-the-url');
    expect(farebox.api.logs() + farebox.worker.logs()).not.toContain('secret-in-the-url');
  });
});

describe('delivery', () => {
  it('honours one range of bytes and says which', async () => {
    const { api } = farebox.account;
    const job = await stored('quick-voice');
    const whole = (await retrieve(api, job)).bytes;
    const size = whole.length;
    const parts: [string, number, number][] = [
      ['bytes=0-99', 0, 99],
      ['bytes=100-', 100, size - 1],
      ['bytes=-50', size - 50, size - 1],
      [`bytes=10-${size * 2}`, 10, size - 1],
    ];
    for (const [range, first, last] of parts) {
      const reply = await retrieve(api, job, { range });
      expect(reply.status, range).toBe(206);
      expect(reply.headers.get('content-range')).toBe(`bytes ${first}-${last}/${size}`);
      expect(reply.headers.get('content-length')).toBe(String(last - first + 1));
      expect(reply.bytes.equals(whole.subarray(first, last + 1)), range).toBe(true);
    }
    for (const range of [`bytes=${size}-`, 'bytes=-0']) {
      const reply = await retrieve(api, job, { range });
      expect([reply.status, reply.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
    }
    for (const range of ['bytes=5-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-']) {
      const reply = await retrieve(api, job, { range });
      expect([reply.status, reply.bytes.length], range).toEqual([200, size]);
    }
    await complete(api, job);
  });

  it('with delete_media_on_completion is the last one', async () => {
    const { api } = farebox.account;
    const job = await stored('quick-voice');
    const audio = await retrieve(api, job, { deleteAfter: true });
    expect([audio.status, audio.bytes.length > 30_000]).toEqual([200, true]);
    // The next request of the same client proves that it has the last byte.
    expect((await retrieve(api, job)).status).toBe(404);
    await untilState(api, job.queueId, 'deleted');
    await expectNothingLeft();
  });

  it('with delete_media_on_completion deletes nothing before there is something to deliver', async () => {
    const { api } = farebox.account;
    const job = await order('slow-voice');
    expect(isProcessing(await retrieve(api, job, { deleteAfter: true }))).toBe(true);
    expect((await outcomeOf(api, job)).status).toBe(200);
    await complete(api, job);
  });

  it('that was cut off is none: the media stays, although the whole of it was sent', async () => {
    const { api } = farebox.account;
    const reply = await queueFile(api, { model: 'quick-voice', source: toneWav(60) });
    const job = { model: 'quick-voice', queueId: queueIdOf(reply) };
    await untilState(api, job.queueId, 'stored');
    const read = await cutDownload(job);
    expect(read).toBeLessThan(900_000);
    expect(farebox.api.logs()).not.toContain('delivery broke off');
    const again = await retrieve(api, job, { deleteAfter: true });
    expect([again.status, again.bytes.length > 900_000]).toEqual([200, true]);
    await untilState(api, job.queueId, 'deleted');
    await expectNothingLeft();
  });

  it('ends with the retention: the media is gone, the charge stands', async () => {
    const brief = await farebox.anotherApi({ ...configuration, media: { retentionHours: 1 / 3_600 } });
    const before = await farebox.moneyOf(farebox.account);
    const queueId = queueIdOf(await queueFile(brief.client, { model: 'quick-voice', source: short }));
    await untilState(brief.client, queueId, 'expired');
    expect((await retrieve(brief.client, { model: 'quick-voice', queueId })).status).toBe(404);
    await expectNothingLeft();
    const { body } = await brief.client.get(`/jobs/${queueId}`);
    expect(body).toMatchObject({ state: 'expired', credits_refunded: false, refund_id: null });
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    await brief.stop();
  });
});

/** Asks for the media and its deletion, reads a little, and is gone. Resolves to the bytes that were read. */
async function cutDownload({ model, queueId }: { model: string; queueId: string }): Promise<number> {
  const { hostname, port } = new URL(farebox.origin);
  const body = JSON.stringify({ model, queue_id: queueId, delete_media_on_completion: true });
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(
    `POST /api/v1/audio/voice-changer/retrieve HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\n` +
      `Authorization: Bearer ${farebox.account.inferenceKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  // Without a reader the socket takes in some kilobytes; the rest waits in the kernel's buffers.
  await sleep(600);
  socket.destroy();
  return socket.bytesRead;
}

describe('cancel', () => {
  it('before the output is stored refunds everything', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await order('endless-voice');
    expect(await farebox.moneyOf(farebox.account)).toBe(before - 50_000_000n);
    const cancelled = await api.post(`/jobs/${job.queueId}/cancel`);
    expect(cancelled.body).toMatchObject({ state: 'cancelled', credits_refunded: true });
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    const again = await api.post(`/jobs/${job.queueId}/cancel`);
    expect([again.status, again.body.refund_id]).toEqual([200, cancelled.body.refund_id]);
    const verdict = await retrieve(api, job);
    expect([verdict.status, verdict.body.credits_refunded]).toEqual([404, true]);
    expect((await complete(api, job)).body).toEqual({ success: true });
    await expectNothingLeft();
  });

  it('after it is too late: 409, and no refund', async () => {
    const { api } = farebox.account;
    const job = await stored('quick-voice');
    const before = await farebox.moneyOf(farebox.account);
    const refused = await api.post(`/jobs/${job.queueId}/cancel`);
    expect([refused.status, typeof refused.body.error]).toEqual([409, 'string']);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    expect((await retrieve(api, job)).status).toBe(200);
    await complete(api, job);
    expect((await api.post(`/jobs/${job.queueId}/cancel`)).status).toBe(409);
  });
});

describe('GET /jobs', () => {
  it('shows a job with what happened to it when, and the ids in the ledger', async () => {
    const { api } = farebox.account;
    const job = await stored('slow-voice');
    await retrieve(api, job);
    await complete(api, job);
    const { body } = await eventually(async () => {
      const reply = await api.get(`/jobs/${job.queueId}`);
      return reply.body.state === 'deleted' ? reply : undefined;
    });
    expect(body).toMatchObject({
      queue_id: job.queueId,
      object: 'job',
      model: 'slow-voice',
      price_usd: 0.05,
    });
    const timeline = body.timeline as { event: string; at: string; ledger_id: string | null }[];
    expect(timeline.map(({ event }) => event).sort()).toEqual(
      [
        'measured',
        'charged',
        'submitted',
        'acknowledged',
        'stored',
        'delivered',
        'completed',
        'deleted',
      ].sort(),
    );
    for (const { at } of timeline) expect(at).toMatch(ISO_TIME);
    expect(timeline.map(({ at }) => at)).toEqual(timeline.map(({ at }) => at).sort());
    expect(timeline.find(({ event }) => event === 'charged')?.ledger_id).toBe(body.charge_id);
  });

  it('lists the own jobs newest first, in pages, and nobody else sees them', async () => {
    const { api } = farebox.account;
    const mine: string[] = [];
    for (let count = 0; count < 3; count += 1) mine.unshift((await stored('quick-voice')).queueId);
    const first = await api.get('/jobs?limit=2');
    const rest = await api.get(`/jobs?limit=100&cursor=${String(first.body.next_cursor)}`);
    const ids = (reply: Reply) => (reply.body.data as { queue_id: string }[]).map((job) => job.queue_id);
    expect(ids(first)).toEqual(mine.slice(0, 2));
    expect(ids(rest)[0]).toBe(mine[2]);
    expect(rest.body.next_cursor).toBeNull();
    expect(ids(await farebox.other.api.get('/jobs'))).toEqual([]);
    expect((await farebox.other.api.get(`/jobs/${mine[0]}`)).status).toBe(400);
    for (const query of ['cursor=nonsense', 'limit=0', 'limit=101', 'limit=ten', 'page=2']) {
      expect((await api.get(`/jobs?${query}`)).status, query).toBe(400);
    }
    for (const queueId of mine) await complete(api, { model: 'quick-voice', queueId });
  });
});

describe('Idempotency-Key', () => {
  it('makes the same order once, whether asked later or at the same moment', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const ask = (key: string, fields = {}) =>
      queueFile(api, {
        model: 'quick-voice',
        source: short,
        fields,
        call: { headers: { 'idempotency-key': key } },
      });
    const replies = await Promise.all(Array.from({ length: 6 }, () => ask('order-1')));
    const later = await ask('order-1');
    const ids = new Set([...replies, later].map(queueIdOf));
    expect(ids.size).toBe(1);
    expect(later.headers.get('idempotent-replayed')).toBe('true');
    expect(later.body).toEqual(replies[0]?.body);
    expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    const other = await ask('order-1', { voice: 'bass' });
    expect([other.status, typeof other.body.error]).toEqual([400, 'string']);
    const otherFile = await queueFile(api, {
      model: 'quick-voice',
      source: toneWav(3),
      call: { headers: { 'idempotency-key': 'order-1' } },
    });
    expect(otherFile.status).toBe(400);
    for (const key of ['', 'a b', 'ü', 'x'.repeat(256), '../1']) {
      const reply = await ask(key).catch(() => undefined);
      expect(reply?.status ?? 400, key).toBe(400);
    }
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    const [queueId = ''] = ids;
    await untilState(api, queueId, 'stored');
    await complete(api, { model: 'quick-voice', queueId });
    await expectNothingLeft();
  });

  it('finds its order alive after an outage in which the first request was given up', async () => {
    const way = await severable(services().temporal.address);
    const cutOff = await farebox.anotherApi(configuration, { TEMPORAL_ADDRESS: way.address });
    const before = await farebox.moneyOf(farebox.account);
    const call = { headers: { 'idempotency-key': 'through-the-outage' } };
    const ask = () => queueFile(cutOff.client, { model: 'slow-voice', source: short, call });
    way.sever();
    const given = await ask();
    expect([given.status, given.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    way.mend();
    const job = { model: 'slow-voice', queueId: queueIdOf(await ask()) };
    // The request that was given up takes its order back every two seconds; this one is no longer its own.
    await sleep(4_500);
    expect((await retrieve(farebox.account.api, job)).status).toBe(200);
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    await complete(farebox.account.api, job);
    await expectNothingLeft();
    await cutOff.stop();
    way.close();
  }, 60_000);

  it('stands for a new order after a refused one', async () => {
    const { api } = farebox.account;
    const headers = { 'idempotency-key': `retry-${randomUUID()}` };
    const noise = Buffer.from('this is no recording at all, however often it is sent');
    const refused = await queueFile(api, { model: 'quick-voice', source: noise, call: { headers } });
    const again = await queueFile(api, { model: 'quick-voice', source: noise, call: { headers } });
    expect([refused.status, again.status]).toEqual([400, 400]);
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    await expectNothingLeft();
  });
});

describe('a provider that does not deliver', () => {
  it('gives the money back, and the stored verdict is repeated word for word', async () => {
    const { api } = farebox.account;
    const verdicts: [string, number][] = [
      ['prudish-voice', 422],
      ['failing-voice', 500],
      ['garbled-voice', 500],
    ];
    for (const [model, status] of verdicts) {
      const before = await farebox.moneyOf(farebox.account);
      const job = await order(model);
      const verdict = await outcomeOf(api, job);
      expect(verdict.status, model).toBe(status);
      expect(verdict.body).toEqual({ error: expect.any(String), credits_refunded: true });
      const repeated = await retrieve(api, job);
      expect([repeated.status, repeated.body]).toEqual([verdict.status, verdict.body]);
      expect(await farebox.moneyOf(farebox.account)).toBe(before);
      expect((await complete(api, job)).body).toEqual({ success: true });
      const { body } = await api.get(`/jobs/${job.queueId}`);
      const events = (body.timeline as { event: string; ledger_id: string | null }[]).map(
        (entry) => entry.event,
      );
      expect(events).toEqual(
        expect.arrayContaining(['measured', 'charged', 'submitted', 'failed', 'refunded']),
      );
      expect(body).toMatchObject({ state: 'failed', credits_refunded: true });
    }
    await expectNothingLeft();
  });
});

describe('the cloud voice changer', () => {
  it('is offered, charged and delivered end to end', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await order(CLOUD, { voice: 'Roger', seed: '5' });
    expectAudio(await outcomeOf(api, job), CLOUD);
    expect(cloud.accepted.at(-1)).toMatchObject({ seed: 5, audioBytes: short.length });
    expect((await complete(api, job)).body).toEqual({ success: true });
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(350_000_000n);
    await expectNothingLeft();
  });

  it('fails and refunds for a voice id that its service does not know', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const job = await order(CLOUD, { voice: 'nobodyHasThisVoice00' });
    const verdict = await outcomeOf(api, job);
    expect([verdict.status, verdict.body.credits_refunded]).toEqual([400, true]);
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    await expectNothingLeft();
  });

  it('is offline without its key, and closed to keys for private models only', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const offline = await queueFile(api, { model: 'keyless-voice', source: short });
    expect([offline.status, typeof offline.body.error]).toEqual([503, 'string']);
    const key = await farebox.newKey({ modelPrivacy: 'PRIVATE_ONLY' });
    const closed = await queueFile(api, { model: CLOUD, source: short, call: { key } });
    expect(closed.status).toBe(403);
    expect(closed.body.error).toContain('PRIVATE_ONLY');
    expect(await farebox.moneyOf(farebox.account)).toBe(before);
    await expectNothingLeft();
  });
});

it('leaves no workflow open, no object in storage and no file behind', async () => {
  await sleep(200);
  expect(await farebox.openWorkflows()).toEqual([]);
  expect(await farebox.objects()).toEqual([]);
  expect(farebox.temporaryFiles()).toEqual([]);
});

/** Concurrent requests, disconnecting clients and dying workers each end in one of the two correct ways. */
import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { nanoFromNumber } from '../../../domain/money.ts';
import { isLong } from '../../engines/media/recordings.ts';
import { services, spawnWorker } from '../../harness/services.ts';
import { queueIdOf, untilState } from '../orders.ts';
import { dataUrl, SQUARE } from './media.ts';
import { complete, type Order, type Ordered, ordered, outcomeOf, queue, quoteOf, retrieve } from './orders.ts';
import { expectNothingLeft, useWorld } from './world.ts';

/** File in which tests arm failpoints of the worker (infra/failpoints.ts). */
const POINTS = path.join(services().folder, `points-${randomInt(1e9)}`);
writeFileSync(POINTS, '');
const world = useWorld({ FAREBOX_TEST_POINT: `@${POINTS}` });
const ROUNDS = isLong() ? 40 : 4;
const MUSIC: Order = { kind: 'audio', body: { model: 'quick-music', prompt: 'A tram at dawn' } };
/** 1.9 MB, more than socket buffers hold. */
const LONG_MUSIC: Order = {
  kind: 'audio',
  body: { model: 'simulator-music', prompt: 'A long way', duration_seconds: 60 },
};
const PICTURED: Order = {
  kind: 'video',
  body: {
    ...{ model: 'pictured-video', prompt: 'A tram', duration: '1s', resolution: '256p' },
    image_url: dataUrl('image/png', SQUARE),
  },
};
const PRICE = 10_101_011n;

const api = () => world.farebox.account.api;

async function stored(order: Order): Promise<Ordered> {
  const job = await ordered(api(), order);
  await untilState(api(), job.queueId, 'stored');
  return job;
}

interface Transfer {
  kind: string;
  amount: string;
  details: { units?: string; pricePerUnitUsd?: string };
}

async function transfersOf(queueId: string): Promise<Transfer[]> {
  const { rows } = await world.farebox.pool.query<Transfer>(
    'select kind, amount::text as amount, details from transfers where operation_id = $1',
    [queueId],
  );
  return rows;
}

/** Sum over currencies. */
function sumOf(transfers: readonly Transfer[], kind: string): bigint {
  return transfers.filter((each) => each.kind === kind).reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}

describe('complete during retrieve', () => {
  it('gives each retrieve all media or none, and keeps the charge', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const job = await stored(MUSIC);
      const whole = await retrieve(api(), job);
      const paid = sumOf(await transfersOf(job.queueId), 'charge');
      const [one, done, other] = await Promise.all([
        retrieve(api(), job),
        sleep(randomInt(4)).then(() => complete(api(), job)),
        sleep(randomInt(8)).then(() => retrieve(api(), job)),
      ]);
      expect(done.body).toEqual({ success: true });
      for (const reply of [one, other]) {
        expect([200, 404]).toContain(reply.status);
        if (reply.status === 200) expect(reply.bytes.equals(whole.bytes)).toBe(true);
      }
      expect((await retrieve(api(), job)).status).toBe(404);
      const transfers = await transfersOf(job.queueId);
      expect([sumOf(transfers, 'charge'), sumOf(transfers, 'refund')]).toEqual([paid, 0n]);
    }
    await expectNothingLeft(world);
  });
});

describe('cancel at the end of a job', () => {
  it('either refunds without media, or is too late and leaves the media', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const job = await ordered(api(), MUSIC);
      await sleep(randomInt(250));
      const cancelled = await api().post(`/jobs/${job.queueId}/cancel`);
      expect([200, 409]).toContain(cancelled.status);
      const end = await outcomeOf(api(), job);
      const transfers = await transfersOf(job.queueId);
      const [charged, refunded] = [-sumOf(transfers, 'charge'), sumOf(transfers, 'refund')];
      if (cancelled.status === 200) expect([end.status, refunded]).toEqual([404, charged]);
      else expect([end.status, refunded]).toEqual([200, 0n]);
      expect(charged).toBeGreaterThan(0n);
      expect((await complete(api(), job)).body).toEqual({ success: true });
    }
    await expectNothingLeft(world);
  });
});

describe('a retrieve with delete_media_on_completion', () => {
  it('leaves the media in place when cut off at any byte', async () => {
    const job = await stored(LONG_MUSIC);
    const whole = await retrieve(api(), job);
    expect(whole.bytes.length).toBeGreaterThan(1_900_000);
    for (let round = 0; round < ROUNDS; round += 1) {
      const most = randomInt(whole.bytes.length / 2);
      expect(await cutAt(job, most)).toBeLessThan(whole.bytes.length);
      expect((await retrieve(api(), job)).bytes.equals(whole.bytes), `cut at ${most}`).toBe(true);
    }
    await sleep(300);
    expect((await retrieve(api(), job, { deleteAfter: true })).status).toBe(200);
    await untilState(api(), job.queueId, 'deleted');
    await expectNothingLeft(world);
  });
});

/** Requests the media with their deletion and disconnects after `bytes`. Returns the bytes read. */
async function cutAt({ kind, model, queueId }: Ordered, bytes: number): Promise<number> {
  const { farebox } = world;
  const { hostname, port } = new URL(farebox.origin);
  const body = JSON.stringify({ model, queue_id: queueId, delete_media_on_completion: true });
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(
    `POST /api/v1/${kind}/retrieve HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\n` +
      `Authorization: Bearer ${farebox.account.inferenceKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return await new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.setTimeout(10_000, () => socket.destroy(new Error('nothing came')));
    socket.on('data', () => {
      if (socket.bytesRead <= bytes) return;
      socket.destroy();
      resolve(socket.bytesRead);
    });
  });
}

/** Writes a configuration in which one model's prices are doubled. */
function withDoublePrice(model: string): { file: string; configuration: Record<string, unknown> } {
  const text = readFileSync(world.farebox.environment.FAREBOX_CONFIG ?? '', 'utf8');
  const { limits, ...configuration } = JSON.parse(text) as {
    models: { id: string; price?: object }[];
    limits: object;
  };
  const models = configuration.models.map((entry) =>
    entry.id === model ? { ...entry, price: { perSecond: { any: double(PRICE) } } } : entry,
  );
  const file = path.join(services().folder, `double-${randomInt(1e9)}.config.json`);
  writeFileSync(file, JSON.stringify({ ...configuration, models, limits }));
  return { file, configuration: { ...configuration, models } };
}

function double(nano: bigint): object {
  const usd = (Number(nano) * 2) / 1e9;
  return { usd, diem: usd };
}

/** Returns the charge. Expects the same amount in every place. */
async function paidFor(queueId: string): Promise<bigint> {
  const transfers = await transfersOf(queueId);
  const paid = -sumOf(transfers, 'charge');
  for (const { details } of transfers) {
    expect([details.units, details.pricePerUnitUsd]).toEqual(['1', String(paid)]);
  }
  const { body } = await api().get(`/jobs/${queueId}`);
  expect(nanoFromNumber(body.price_usd as number)).toBe(paid);
  return paid;
}

describe('a price change between quote and charge', () => {
  it('charges, shows and refunds one and the same price', async () => {
    const { configuration } = withDoublePrice('any-video');
    const dearer = await world.farebox.anotherApi(configuration);
    const order: Order = { kind: 'video', body: { model: 'any-video', prompt: 'A tram', duration: '1s' } };
    const { prompt: _, ...fields } = order.body as { prompt: string };
    const quoted = await quoteOf(dearer.client, { kind: 'video', body: fields });
    expect(quoted.body).toEqual({ quote: Number(PRICE * 2n) / 1e9 });
    const before = await world.farebox.moneyOf(world.farebox.account);
    const queueId = queueIdOf(await queue(dearer.client, order));
    const paid = await paidFor(queueId);
    expect([PRICE, PRICE * 2n]).toContain(paid);
    expect(before - (await world.farebox.moneyOf(world.farebox.account))).toBe(paid);
    expect((await dearer.client.post(`/jobs/${queueId}/cancel`)).body).toMatchObject({
      credits_refunded: true,
    });
    expect(await world.farebox.moneyOf(world.farebox.account)).toBe(before);
    await dearer.stop();
    await expectNothingLeft(world);
  });
});

describe('inline media of an order whose worker dies', () => {
  it('reach the next worker, and the order is charged once and made', async () => {
    const { farebox } = world;
    const { file } = withDoublePrice('pictured-video');
    const before = await farebox.moneyOf(farebox.account);
    writeFileSync(POINTS, 'measured:kill');
    const answer = queue(api(), PICTURED);
    expect((await farebox.worker.exit).signal).toBe('SIGKILL');
    writeFileSync(POINTS, '');
    const next = await spawnWorker({ environment: { ...farebox.environment, FAREBOX_CONFIG: file } });
    try {
      const job: Ordered = { kind: 'video', model: 'pictured-video', queueId: queueIdOf(await answer) };
      const made = await outcomeOf(api(), job, 60_000);
      expect([made.status, made.headers.get('content-type')]).toEqual([200, 'video/mp4']);
      const paid = await paidFor(job.queueId);
      expect([PRICE, PRICE * 2n]).toContain(paid);
      expect(before - (await farebox.moneyOf(farebox.account))).toBe(paid);
      expect((await complete(api(), job)).body).toEqual({ success: true });
      await expectNothingLeft(world);
    } finally {
      await next.stop();
    }
  });
});

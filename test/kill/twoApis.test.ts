/** Two API processes on one ledger: concurrent requests for one budget, and one order sent many times. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toneWav } from '../../bench/wav.ts';
import { balanceOf, grant } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { countBy } from '../harness/countBy.ts';
import { awaitJob, completeJob, type JobClient, jsonOf, order, queueJob, type Reply } from '../harness/jobDriver.ts';
import { type Spawned, spawnApi } from '../harness/services.ts';
import { modelId } from '../harness/simulatedVoices.ts';
import { until } from '../harness/until.ts';
import { longRun } from '../infra/postgres/longRun.ts';
import { type KillWorld, openKillWorld } from './killWorld.ts';
import { killConfig, PRICE_NANO } from './models.ts';
import type { Payer } from './payer.ts';

const model = modelId('instant');
const source = toneWav(2);

let world: KillWorld;
let second: Spawned & { baseUrl: string };

beforeAll(async () => {
  world = await openKillWorld(killConfig());
  const { PORT: _, ...environment } = world.environment;
  second = await spawnApi({ environment });
});
afterAll(async () => {
  second?.kill('SIGKILL');
  await world?.close();
});

/** Sends requests to the two processes in turn. */
function clientOf(payer: Payer): JobClient {
  let turn = 0;
  return {
    secret: payer.secret,
    baseUrl: () => {
      turn += 1;
      return turn % 2 === 0 ? world.baseUrl : second.baseUrl;
    },
  };
}

/** Makes `count` calls, `width` at a time. */
async function manyAtOnce<T>(count: number, width: number, call: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let left = count;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      results.push(await call());
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}

async function movesOf(payer: Payer): Promise<Record<string, number>> {
  const { rows } = await world.pool.query<{ kind: string }>(
    `select kind from transfers where account_id = $1 and kind in ('charge', 'refund')`,
    [payer.accountId],
  );
  return countBy(rows.map((row) => row.kind));
}

async function jobsOf(payer: Payer): Promise<number> {
  const { rows } = await world.pool.query('select from jobs where account_id = $1', [payer.accountId]);
  return rows.length;
}

describe('a budget shared by many requests through two API processes', () => {
  const most = longRun(20, 50);
  it(`pays for ${most} jobs of 0.10, and answers 402 to the others, which cost and leave nothing`, async () => {
    const payer = await world.createPayer({ usdNano: BigInt(most) * PRICE_NANO });
    const client = clientOf(payer);
    const replies = await manyAtOnce(most + 70, 24, () => order(client, { model, source }));
    expect(countBy(replies.map(({ status }) => String(status)))).toEqual({ 200: most, 402: 70 });
    const refusals = replies.filter(({ status }) => status === 402);
    expect(new Set(refusals.map(({ body }) => body.toString())).size).toBe(1);
    expect((await balanceOf(world.pool, payer.accountId))?.usd).toBe(0n);
    expect(await movesOf(payer)).toEqual({ charge: most });
    expect(await jobsOf(payer)).toBe(most);
    expect(await checkLedger(world.pool)).toEqual([]);
    const accepted = new Set(replies.flatMap((reply) => (reply.status === 200 ? [queueIdOf(reply)] : [])));
    expect(accepted.size).toBe(most);
    const hasOnlyAccepted = async () => {
      const { objects } = await world.storage.list('incoming/');
      return objects.every(({ key }) => accepted.has(key.split('/')[1] ?? ''));
    };
    await until('refused orders leave no source', hasOnlyAccepted);
  });
});

const queueIdOf = (reply: Reply) => String(jsonOf(reply).queue_id);

describe('an order with an Idempotency-Key, through two API processes', () => {
  it('becomes one job with one charge when sent twenty times at once', async () => {
    const payer = await world.createPayer();
    const client = clientOf(payer);
    const idempotencyKey = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => order(client, { model, source, idempotencyKey })),
    );
    expect(countBy(replies.map(({ status }) => String(status)))).toEqual({ 200: 20 });
    expect(new Set(replies.map(queueIdOf)).size).toBe(1);
    const first = replies.filter((reply) => reply.headers.get('idempotent-replayed') !== 'true');
    expect(first.length).toBe(1);
    expect(await movesOf(payer)).toEqual({ charge: 1 });
    expect(await jobsOf(payer)).toBe(1);
    const job = { model, queueId: replies.map(queueIdOf)[0] ?? '' };
    expect((await awaitJob(client, job)).ended).toBe('delivered');
    await completeJob(client, job);
    await until('nothing of it is left', async () => (await objectsOf(job.queueId)) === 0);
    const late = await order(client, { model, source, idempotencyKey });
    expect([late.status, queueIdOf(late)]).toEqual([200, job.queueId]);
    expect(late.headers.get('idempotent-replayed')).toBe('true');
    expect(await movesOf(payer)).toEqual({ charge: 1 });
    expect(await objectsOf(job.queueId)).toBe(0);
  });

  it('is refused with another body, and neither costs nor changes anything', async () => {
    const payer = await world.createPayer();
    const client = clientOf(payer);
    const idempotencyKey = randomUUID();
    const first = await order(client, { model, source, idempotencyKey });
    const others = await Promise.all([
      order(client, { model, source: toneWav(3), idempotencyKey }),
      order(client, { model, source, fields: { voice: 'alto' }, idempotencyKey }),
      order(client, { model: modelId('slow'), source, idempotencyKey }),
    ]);
    expect(others.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(await movesOf(payer)).toEqual({ charge: 1 });
    const again = await order(client, { model, source, idempotencyKey });
    expect(queueIdOf(again)).toBe(queueIdOf(first));
  });

  it('is accepted under the same key after a refusal once there is credit', async () => {
    const payer = await world.createPayer({ usdNano: 0n });
    const client = clientOf(payer);
    const idempotencyKey = randomUUID();
    const poor = await manyAtOnce(6, 3, () => order(client, { model, source, idempotencyKey }));
    expect(countBy(poor.map(({ status }) => String(status)))).toEqual({ 402: 6 });
    expect(await movesOf(payer)).toEqual({});
    const credit = {
      accountId: payer.accountId,
      currency: 'usd',
      amount: PRICE_NANO,
      notes: 'test',
    } as const;
    await grant(world.pool, { operationId: randomUUID(), ...credit });
    const rich = await order(client, { model, source, idempotencyKey });
    expect([rich.status, rich.body.toString()]).toEqual([200, expect.stringContaining('QUEUED')]);
    const replay = await queueJob(client, { model, source, idempotencyKey });
    expect(replay).toMatchObject({ ended: 'accepted', queueId: queueIdOf(rich), replayed: true });
    expect(await movesOf(payer)).toEqual({ charge: 1 });
    expect((await balanceOf(world.pool, payer.accountId))?.usd).toBe(0n);
  });

  it('is independent of the same key of another account', async () => {
    const [one, other] = [await world.createPayer(), await world.createPayer()];
    const idempotencyKey = randomUUID();
    const [mine, theirs] = await Promise.all(
      [one, other].map((payer) => order(clientOf(payer), { model, source, idempotencyKey })),
    );
    expect([mine?.status, theirs?.status]).toEqual([200, 200]);
    expect(mine && queueIdOf(mine)).not.toBe(theirs && queueIdOf(theirs));
  });
});

async function objectsOf(queueId: string): Promise<number> {
  const { storage } = world;
  const pages = await Promise.all([storage.list(`incoming/${queueId}/`), storage.list(`output/${queueId}/`)]);
  return pages.flatMap((page) => page.objects).length;
}

/** Loses Redis under a steady load: no errors, bounded waiting, an exact ledger, and recovery. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toneWav } from '../../bench/wav.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { balanceOf } from '../../infra/postgres/ledger.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { call, type JobClient, order, post, type Reply } from '../harness/jobDriver.ts';
import { type MortalRedis, startRedis } from '../harness/redis.ts';
import { createWorld, type Spawned, services, spawnApi, spawnWorker } from '../harness/services.ts';
import { modelId } from '../harness/simulatedVoices.ts';
import { killConfig, PRICE_NANO } from './models.ts';
import { ledgerCheck } from './operator.ts';
import { createPayer, type Payer } from './payer.ts';

const model = modelId('instant');
const source = toneWav(2);
const PHASE_MS = 3_000;
/** Limit for a command to Redis; a read takes some milliseconds. */
const MAX_WAIT_MS = 1_000;
/** Higher than any machine reaches, so that no rate limit applies here. */
const READS_PER_MINUTE = 10_000_000;
const accountId = randomUUID();
/** Requests of one reader. Each needs a key lookup and a rate limit. */
const READS: ((client: JobClient) => Promise<Reply>)[] = [
  (client) => call(client, '/billing/balance'),
  (client) => call(client, '/api_keys/rate_limits'),
  (client) => call(client, '/models?type=music'),
  (client) => call(client, '/api_keys'),
  (client) => post(client, '/audio/voice-changer/quote', { model, duration_seconds: 30 }),
];

let redis: MortalRedis;
let environment: Record<string, string>;
let pool: pg.Pool;
let api: Spawned & { baseUrl: string; origin: string };
let worker: Spawned;

beforeAll(async () => {
  redis = await startRedis(path.join(services().folder, randomUUID()));
  ({ environment } = await createWorld());
  const file = path.join(services().folder, `redis-${randomUUID()}.json`);
  const limits = { overrides: { [accountId]: { requestsPerMinute: READS_PER_MINUTE } } };
  writeFileSync(file, JSON.stringify({ ...killConfig(), limits }));
  Object.assign(environment, { FAREBOX_CONFIG: file, REDIS_URL: redis.url });
  pool = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'redis-test', max: 3 });
  [worker, api] = await Promise.all([spawnWorker({ environment }), spawnApi({ environment })]);
});
afterAll(async () => {
  for (const each of [api, worker]) each?.kill('SIGKILL');
  await redis?.kill();
  await pool?.end();
});

interface Answered {
  phase: string;
  kind: 'read' | 'order';
  status: number;
  tookMs: number;
}

interface Load {
  answered: Answered[];
  enter(phase: string): void;
  stop(): Promise<void>;
}

/** Six readers and two buyers send one request after the other until `stop`. */
function startLoad(payer: Payer, admin: string): Load {
  const answered: Answered[] = [];
  let phase = 'before';
  let going = true;
  const lane = async (kind: Answered['kind'], ask: (turn: number) => Promise<Reply>, pauseMs: number) => {
    for (let turn = 0; going; turn += 1) {
      const during = phase;
      const startedAt = performance.now();
      // Status 0 is a broken connection, which fails the test like a 5xx.
      const status = await ask(turn)
        .then((reply) => reply.status)
        .catch(() => 0);
      answered.push({ phase: during, kind, status, tookMs: performance.now() - startedAt });
      await sleep(pauseMs);
    }
  };
  const clientOf = (secret: string): JobClient => ({ secret, baseUrl: () => api.baseUrl });
  const read = (turn: number) => (READS[turn % READS.length] as (typeof READS)[number])(clientOf(admin));
  const buy = () => order(clientOf(payer.secret), { model, source, idempotencyKey: randomUUID() });
  const lanes = [
    ...Array.from({ length: 6 }, () => lane('read', read, 20)),
    ...Array.from({ length: 2 }, () => lane('order', buy, 100)),
  ];
  return {
    answered,
    enter(next) {
      phase = next;
    },
    async stop() {
      going = false;
      await Promise.all(lanes);
    },
  };
}

async function redisSeen(): Promise<string> {
  const answer = await fetch(`${api.origin}/readyz`);
  const { parts } = (await answer.json()) as { parts: Record<string, string> };
  return `${answer.status} ${parts.redis}`;
}

it('serves without errors, long waits, ledger differences or a restart while Redis is killed, restarted and then hung', async () => {
  const payer = await createPayer(pool, { accountId, usdNano: 1_000_000_000_000n });
  const { secret: admin } = await createKey(pool, { accountId, keyType: 'ADMIN' });
  const load = startLoad(payer, admin);
  const kindsIn = (phase: string) =>
    new Set(load.answered.filter((one) => one.phase === phase).map(({ kind }) => kind));
  await sleep(PHASE_MS);
  await expect.poll(() => kindsIn('before').size).toBe(2);
  load.enter('gone');
  await redis.kill();
  await expect.poll(redisSeen).toBe('503 missing');
  await sleep(PHASE_MS);
  // A buyer may still wait for an order from before.
  await expect.poll(() => kindsIn('gone').size).toBe(2);
  await redis.start();
  await expect.poll(redisSeen).toBe('200 ok');
  load.enter('hung');
  redis.stall();
  await expect.poll(redisSeen).toBe('503 missing');
  await sleep(1_000);
  await expect.poll(() => kindsIn('hung').size).toBe(2);
  redis.goOn();
  await expect.poll(redisSeen).toBe('200 ok');
  load.enter('after');
  await expect.poll(() => kindsIn('after').size).toBe(2);
  await load.stop();
  expectNoErrors(load.answered);
  expectBoundedWaiting(load.answered);
  await expectExactBooks(payer, load.answered);
  expect(api.logs()).toContain('Redis does not answer: limits are counted by each process for itself');
  expect(api.logs()).toContain('Redis is reachable again');
  expect(await Promise.race([api.exit, 'the same process'])).toBe('the same process');
});

function expectNoErrors(answered: Answered[]): void {
  expect(answered.filter(({ status }) => status !== 200)).toEqual([]);
  for (const phase of ['before', 'gone', 'hung', 'after']) {
    const kinds = new Set(answered.filter((one) => one.phase === phase).map(({ kind }) => kind));
    expect([phase, ...kinds].sort()).toEqual(['order', phase, 'read'].sort());
  }
}

/** Checks the median of hundreds of reads. A read that waits for Redis takes at least a second. */
function expectBoundedWaiting(answered: Answered[]): void {
  const median = (phase: string) => {
    const waits = answered.filter((one) => one.kind === 'read' && one.phase === phase);
    const sorted = waits.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
    return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  };
  for (const phase of ['gone', 'hung']) expect([phase, median(phase) < MAX_WAIT_MS]).toEqual([phase, true]);
}

/** Expects one charge per accepted order and no other transfer. */
async function expectExactBooks(payer: Payer, answered: Answered[]): Promise<void> {
  const orders = answered.filter(({ kind }) => kind === 'order').length;
  const { rows } = await pool.query(
    `select kind, count(*)::int as n, sum(amount)::text as amount from transfers
      where account_id = $1 group by kind order by kind`,
    [payer.accountId],
  );
  const charged = PRICE_NANO * BigInt(orders);
  expect(rows).toEqual([
    { kind: 'charge', n: orders, amount: String(-charged) },
    { kind: 'grant', n: 1, amount: String(payer.startNano) },
  ]);
  expect(await balanceOf(pool, payer.accountId)).toMatchObject({ usd: payer.startNano - charged });
  expect(await ledgerCheck(environment.DATABASE_URL ?? '')).toMatchObject({ code: 0 });
}

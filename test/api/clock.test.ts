/** Two API processes with clocks hours off share one database: its clock decides, and both answer the same. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toneWav } from '../../bench/wav.ts';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey, type NewKey } from '../../infra/postgres/keys.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { type ClockedPostgres, startClockedPostgres } from '../harness/clockedPostgres.ts';
import { fakedClock } from '../harness/fakedClock.ts';
import { call, type JobClient, jsonOf, queueJob } from '../harness/jobDriver.ts';
import { createWorld, type Spawned, services, spawnApi, spawnWorker } from '../harness/services.ts';
import { modelId, simulatedVoice, simulator } from '../harness/simulatedVoices.ts';

const HOURS_OFF = [5, -5];
const ONE = 1_000_000_000n;
const model = modelId('instant');

let postgres: ClockedPostgres;
let pool: pg.Pool;
let worker: Spawned;
let apis: (Spawned & { baseUrl: string })[];

beforeAll(async () => {
  const clock = await fakedClock();
  const [clocked, { environment }] = await Promise.all([
    startClockedPostgres(path.join(services().folder, randomUUID())),
    createWorld(),
  ]);
  postgres = clocked;
  const file = path.join(services().folder, `clock-${randomUUID()}.json`);
  const config = { providers: { instant: simulator() }, models: [simulatedVoice('instant', 0.1)] };
  writeFileSync(file, JSON.stringify(config));
  const databaseUrl = await postgres.createDatabase();
  Object.assign(environment, { DATABASE_URL: databaseUrl, FAREBOX_CONFIG: file });
  pool = openPool({ databaseUrl, applicationName: 'clock-test', max: 3 });
  const skewed = HOURS_OFF.map((hours) => ({ environment: { ...environment, ...clock.skewed(hours) } }));
  [worker, apis] = await Promise.all([spawnWorker({ environment }), Promise.all(skewed.map(spawnApi))]);
});
afterAll(async () => {
  for (const each of [...(apis ?? []), worker]) each?.kill('SIGKILL');
  await pool?.end();
  await postgres?.stop();
});

async function newClients(key: Partial<NewKey> = {}): Promise<{ clients: JobClient[]; keyId: string }> {
  const { id: accountId } = await createAccount(pool, { name: 'test', diemDailyAllocation: ONE });
  const { record, secret } = await createKey(pool, { accountId, keyType: 'ADMIN', ...key });
  return { clients: apis.map(({ baseUrl }) => ({ secret, baseUrl: () => baseUrl })), keyId: record.id };
}

/** Returns the answer of both processes, which must be the same. */
async function sameOfBoth(clients: JobClient[], where: string): Promise<Record<string, unknown>> {
  const [one, other] = await Promise.all(clients.map(async (client) => jsonOf(await call(client, where))));
  expect(one).toEqual(other);
  return one ?? {};
}

it('expires a key and records its last use by the clock of the database', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000);
  const { clients, keyId } = await newClients({ expiresAt });
  const statuses = () => Promise.all(clients.map(async (client) => (await call(client, '/billing/balance')).status));
  expect(await statuses()).toEqual([200, 200]);
  const usedAt = Date.now();
  await postgres.setClock(expiresAt.toISOString());
  // A process notices when it reads a key.
  const other = await newClients();
  await sameOfBoth(other.clients, '/billing/balance');
  expect(await statuses()).toEqual([401, 401]);
  const lastUse = async () => {
    const { rows } = await pool.query<{ at: Date | null }>('select last_used_at as at from api_keys where id = $1', [
      keyId,
    ]);
    return rows[0]?.at;
  };
  await expect.poll(lastUse).toBeTruthy();
  expect(Math.abs(((await lastUse())?.getTime() ?? 0) - usedAt)).toBeLessThan(15_000);
  await postgres.setClock(new Date().toISOString());
});

it('accepts an expiry in an hour of the database clock and refuses one an hour ago', async () => {
  const { clients } = await newClients();
  const create = async (client: JobClient, expiresAt: Date) => {
    const body = { apiKeyType: 'INFERENCE', description: 'x', expiresAt: expiresAt.toISOString() };
    const reply = await call(client, '/api_keys', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return [reply.status, JSON.stringify(jsonOf(reply).details ?? null)];
  };
  for (const client of clients) {
    expect(await create(client, new Date(Date.now() + 3_600_000))).toEqual([200, 'null']);
    const [status, details] = await create(client, new Date(Date.now() - 3_600_000));
    expect([status, details]).toEqual([400, expect.stringContaining('Must be in the future')]);
  }
});

it('counts an order on the day of the database, and starts the next day with its full allocation', async () => {
  const { clients, keyId } = await newClients({ limits: { usd: ONE }, limitPeriod: 'MONTH' });
  await postgres.setClock('2028-02-29T23:59:30Z');
  for (const client of clients) {
    expect(await queueJob(client, { model, source: toneWav(2) })).toMatchObject({ ended: 'accepted' });
  }
  expect(await sameOfBoth(clients, '/billing/balance')).toMatchObject({ balances: { diem: 0.8 } });
  expect(await sameOfBoth(clients, `/api_keys/${keyId}`)).toMatchObject({
    data: { currentPeriodUsage: { diem: '0.2000' } },
  });
  const day = await sameOfBoth(clients, '/api_keys/rate_limits');
  expect(day).toMatchObject({ data: { nextEpochBegins: '2028-03-01T00:00:00.000Z' } });
  await postgres.setClock('2028-03-01T00:00:00Z');
  expect(await sameOfBoth(clients, '/billing/balance')).toMatchObject({ balances: { diem: 1 } });
  expect(await sameOfBoth(clients, `/api_keys/${keyId}`)).toMatchObject({
    data: { currentPeriodUsage: { diem: '0.0000' }, usage: { trailingSevenDays: { diem: '0.2000' } } },
  });
  const { rows } = await pool.query(
    `select day::text, count(*)::int as n from transfers where key_id = $1 and kind = 'charge' group by day`,
    [keyId],
  );
  expect(rows).toEqual([{ day: '2028-02-29', n: 2 }]);
  expect(await checkLedger(pool)).toEqual([]);
});

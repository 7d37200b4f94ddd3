/** Transactions under an account's lock send no NOTIFY, which locks the whole cluster until its commit. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccountTurns } from '../../../activities/accountTransaction.ts';
import type { ActivityDependencies } from '../../../activities/dependencies.ts';
import { endJob } from '../../../activities/endJob.ts';
import { JOB_CHANNEL } from '../../../infra/postgres/jobChanges.ts';
import { acceptJob, storeJob, submitJob } from '../../api/jobs/jobsWorld.ts';
import { until } from '../../harness/until.ts';
import { createLedgerWorld, type LedgerWorld } from './ledgerWorld.ts';

let world: LedgerWorld;
let listener: pg.Client;
let heard: string[];

beforeAll(async () => {
  world = await createLedgerWorld();
  listener = new pg.Client({ connectionString: world.databaseUrl });
  await listener.connect();
  listener.on('notification', ({ payload }) => heard.push(payload ?? ''));
  await listener.query(`listen ${JOB_CHANNEL}`);
});
afterAll(async () => {
  await listener?.end();
  await world?.close();
});

/** Notifications by the end of `act`; they arrive in the order of the commits. */
async function heardOf(act: () => Promise<unknown>): Promise<string[]> {
  heard = [];
  await act();
  const last = randomUUID();
  await world.owner.query('select pg_notify($1, $2)', [JOB_CHANNEL, last]);
  await until('the last announcement is heard', () => heard.includes(last));
  return heard.filter((payload) => payload !== last);
}

it('sends none for the acceptance of a job, one for each step, and one for its end after the refund', async () => {
  const { pool } = world;
  const accountId = await world.account({ usd: 10n ** 12n });
  let queueId = '';
  const accept = async () => {
    queueId = await acceptJob(pool, { accountId, keyId: null });
  };
  expect(await heardOf(accept)).toEqual([]);
  expect(await heardOf(() => submitJob(pool, queueId))).toEqual([queueId]);
  const given = {
    pool,
    accountTurns: createAccountTurns(),
    providers: new Map(),
    storage: { remove: async () => undefined, list: async () => ({ objects: [] }) },
  } as unknown as ActivityDependencies;
  const failure = { code: 'timed_out', message: 'late' } as const;
  const end = () => endJob(given, { queueId, state: 'timed_out', failure });
  expect(await heardOf(end)).toEqual([queueId]);
  expect(await heardOf(end)).toEqual([]);
});

it('sends the one of a stored output in its own commit, which locks no account', async () => {
  const { pool } = world;
  const accountId = await world.account({ usd: 10n ** 12n });
  const queueId = await acceptJob(pool, { accountId, keyId: null });
  await heardOf(() => submitJob(pool, queueId));
  expect(await heardOf(() => storeJob(pool, queueId))).toEqual([queueId]);
});

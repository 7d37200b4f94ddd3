/** While another session locks one account's row, the jobs of other accounts are accepted and ended. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { acceptJob } from '../../activities/acceptJob.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import { endJob } from '../../activities/endJob.ts';
import { createLedgerWorld, type LedgerWorld } from '../infra/postgres/ledgerWorld.ts';
import { acceptingDependencies, orderOf } from './measuredOrders.ts';
import { retryWaiting } from './retryWaiting.ts';

/** Pool size of a worker. */
const CONNECTIONS = 12;
const LOCKED_JOBS = 49;
const OTHERS = 30;
const RICH = 10n ** 12n;

let world: LedgerWorld;
let dependencies: ActivityDependencies;
beforeAll(async () => {
  world = await createLedgerWorld(CONNECTIONS);
  dependencies = acceptingDependencies(world.pool);
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

const failure = { code: 'timed_out', message: 'late' } as const;
const end = (queueId: string) => endJob(dependencies, { queueId, state: 'timed_out', failure });

it('accepts and ends jobs of other accounts while many of a locked account wait', async () => {
  const locked = await world.account({ usd: RICH });
  const orders = Array.from({ length: LOCKED_JOBS }, () => orderOf(locked, Date.now() + 600_000));
  const [first, ...later] = orders as [(typeof orders)[0], ...typeof orders];
  expect(await acceptJob(dependencies, first)).toMatchObject({ ok: true });

  const client = await world.owner.connect();
  await client.query('begin');
  await client.query('select from accounts where id = $1 for update', [locked]);
  const ended: unknown[] = [];
  const waiting = [
    retryWaiting(() => end(first.job.queueId)),
    ...later.map((order) => retryWaiting(() => acceptJob(dependencies, order))),
  ].map(async (step) => ended.push(await step));

  try {
    for (let count = 0; count < OTHERS; count += 1) {
      const order = orderOf(await world.account({ usd: RICH }), Date.now() + 600_000);
      expect(await acceptJob(dependencies, order)).toMatchObject({ ok: true });
      expect(await end(order.job.queueId)).toMatchObject({ state: 'timed_out' });
    }
    expect(ended).toEqual([]);
  } finally {
    await client.query('rollback');
    client.release();
  }
  await Promise.all(waiting);
  expect(ended.map((result) => (result as { ok?: boolean }).ok ?? 'ended').sort()).toEqual([
    'ended',
    ...later.map(() => true),
  ]);
  const charged = (await world.transfersOf(locked)).filter(({ kind }) => kind === 'charge');
  expect(charged).toHaveLength(LOCKED_JOBS);
});

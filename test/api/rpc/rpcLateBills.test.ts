/** A JSON-RPC bill that is not written before the deadline: the client gets a 504 and pays nothing. */
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Route } from '../../../api/http/route.ts';
import { rpcRoute } from '../../../api/rpc/rpcRoutes.ts';
import { armFailpoints } from '../../../infra/failpoints.ts';
import { balanceOf } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { type HeldTimers, holdTimers } from '../../harness/heldTimers.ts';
import { services } from '../../harness/services.ts';
import { until } from '../../harness/until.ts';
import { call, newPayer, type RpcPayer, type RpcWorld, startRpcWorld } from './rpcWorld.ts';

/** No other timer has this length. */
const DEADLINE_MS = 2_501;
/** For the attempt to write a bill, which the lock ends in any case. */
const WRITE_MS = 1_000;

let deadlines: HeldTimers;
let world: RpcWorld;
beforeAll(async () => {
  deadlines = holdTimers(DEADLINE_MS);
  world = await startRpcWorld({
    routes: [{ ...rpcRoute, path: '/test/rpc/{network}', deadlineMs: DEADLINE_MS } as Route],
  });
});
afterAll(async () => {
  deadlines.release();
  armFailpoints(undefined);
  expect(await checkLedger(world.api.opened.dependencies.core.sql)).toEqual([]);
  await world.close();
});

async function post({ key }: RpcPayer, body: string, headers: Record<string, string> = {}) {
  const response = await world.api.call('/test/rpc/base-mainnet', {
    ...{ method: 'POST', key, body },
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status: response.status, text: await response.text() };
}

const fundsOf = async ({ accountId }: RpcPayer) =>
  (await balanceOf(world.api.opened.dependencies.core.sql, accountId))?.usd;

/** Locks the row of the account, so that no write to it succeeds. */
async function lockAccount({ accountId }: RpcPayer): Promise<() => Promise<void>> {
  const client = await world.api.opened.dependencies.core.sql.connect();
  await client.query('begin');
  await client.query('select from accounts where id = $1 for update', [accountId]);
  return async () => {
    await client.query('rollback');
    client.release();
  };
}

async function untilSettled(): Promise<void> {
  await until('nothing is in flight', () => world.api.inFlight.count === 0);
  const { sql } = world.api.opened.dependencies.core;
  const isSettled = async () => (await sql.query('select from holds')).rows.length === 0;
  await until('nothing is held', isSettled);
}

/** The answer to a request whose deadline passes between its bill and its answer. */
async function billedLate(ask: () => ReturnType<typeof post>): ReturnType<typeof post> {
  const file = join(services().folder, `rpc-point-${randomUUID()}`);
  writeFileSync(file, 'rpc-settled:pause:1:3000');
  armFailpoints(`@${file}`);
  const answer = ask();
  await until('it is billed', () => existsSync(`${file}.fired`));
  deadlines.fire();
  return await answer;
}

it('is not charged when Postgres stalls through the deadline', async () => {
  const payer = await newPayer(world);
  const before = await fundsOf(payer);
  const { requests } = world.node;
  const answer = post(payer, call('eth_chainId', '["slow"]'));
  await until('the node is asked', () => world.node.requests > requests);
  const unlock = await lockAccount(payer);
  world.node.release();
  await sleep(WRITE_MS);
  deadlines.fire();
  expect((await answer.finally(unlock)).status).toBe(504);
  await untilSettled();
  expect(await fundsOf(payer)).toBe(before);
});

it('is withdrawn when the deadline passes between the bill and the answer', async () => {
  const payer = await newPayer(world);
  const before = await fundsOf(payer);
  expect((await billedLate(() => post(payer, call('eth_chainId')))).status).toBe(504);
  await untilSettled();
  expect(await fundsOf(payer)).toBe(before);
});

it('stays with an Idempotency-Key, whose next request gets the answer', async () => {
  const payer = await newPayer(world);
  const before = await fundsOf(payer);
  const ask = () => post(payer, call('eth_chainId', '["kept"]'), { 'idempotency-key': 'late' });
  expect((await billedLate(ask)).status).toBe(504);
  await untilSettled();
  const after = await fundsOf(payer);
  expect(after).toBeLessThan(before ?? 0n);
  const { requests } = world.node;
  const repeated = await ask();
  expect([repeated.status, repeated.text]).toEqual([200, expect.stringContaining('kept')]);
  expect([world.node.requests, await fundsOf(payer)]).toEqual([requests, after]);
});

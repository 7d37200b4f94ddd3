/** A JSON-RPC bill that is not written before the deadline: the client gets a 504 and pays nothing. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Route } from '../../../api/http/route.ts';
import { rpcRoute } from '../../../api/rpc/rpcRoutes.ts';
import { armFailpoints } from '../../../infra/failpoints.ts';
import { balanceOf } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { until } from '../../harness/until.ts';
import { call, newPayer, type RpcPayer, type RpcWorld, startRpcWorld } from './rpcWorld.ts';

vi.setConfig({ testTimeout: 60_000 });

const DEADLINE_MS = 2_500;

let world: RpcWorld;
beforeAll(async () => {
  world = await startRpcWorld({
    routes: [{ ...rpcRoute, path: '/test/rpc/{network}', deadlineMs: DEADLINE_MS } as Route],
  });
});
afterAll(async () => {
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
  await until('nothing is in flight', () => world.api.inFlight.count === 0, 20_000);
  const { sql } = world.api.opened.dependencies.core;
  const isSettled = async () => (await sql.query('select from holds')).rows.length === 0;
  await until('nothing is held', isSettled, 20_000);
}

it('is not charged when Postgres stalls through the deadline', async () => {
  const payer = await newPayer(world);
  const before = await fundsOf(payer);
  const { requests } = world.node;
  const answer = post(payer, call('eth_chainId', '["slow"]'));
  await until('the node is asked', () => world.node.requests > requests, 20_000);
  const unlock = await lockAccount(payer);
  world.node.release();
  expect((await answer.finally(unlock)).status).toBe(504);
  await untilSettled();
  expect(await fundsOf(payer)).toBe(before);
});

it('is withdrawn when the deadline passes between the bill and the answer', async () => {
  const payer = await newPayer(world);
  const before = await fundsOf(payer);
  armFailpoints(`rpc-settled:pause:1:${DEADLINE_MS + 500}`);
  expect((await post(payer, call('eth_chainId'))).status).toBe(504);
  await untilSettled();
  expect(await fundsOf(payer)).toBe(before);
});

it('stays with an Idempotency-Key, whose next request gets the answer', async () => {
  const payer = await newPayer(world);
  const before = await fundsOf(payer);
  armFailpoints(`rpc-settled:pause:1:${DEADLINE_MS + 500}`);
  const ask = () => post(payer, call('eth_chainId', '["kept"]'), { 'idempotency-key': 'late' });
  expect((await ask()).status).toBe(504);
  await untilSettled();
  const after = await fundsOf(payer);
  expect(after).toBeLessThan(before ?? 0n);
  const { requests } = world.node;
  const repeated = await ask();
  expect([repeated.status, repeated.text]).toEqual([200, expect.stringContaining('kept')]);
  expect([world.node.requests, await fundsOf(payer)]).toEqual([requests, after]);
});

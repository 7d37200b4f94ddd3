/** The JSON-RPC proxy as processes: two share limits, and one dies between a node and its answer. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';
import { keccak256 } from 'viem/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { grant } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { createWorld, type Spawned, services, spawnApi } from '../harness/services.ts';
import { until } from '../harness/until.ts';
import { type RpcNode, startRpcNode } from '../stubs/rpcNode.ts';

type Api = Spawned & { baseUrl: string };

let node: RpcNode;
let pool: pg.Pool;
let environment: Record<string, string>;
let first: Api;
let second: Api;

beforeAll(async () => {
  node = await startRpcNode();
  ({ environment } = await createWorld());
  const file = path.join(services().folder, `rpc-${randomUUID()}.json`);
  const network = { endpoints: [`${node.url}/base-mainnet`], allowPrivateNetwork: true };
  writeFileSync(file, JSON.stringify({ rpc: { networks: { 'base-mainnet': network } } }));
  Object.assign(environment, { FAREBOX_CONFIG: file });
  const databaseUrl = environment.DATABASE_URL ?? '';
  pool = openPool({ databaseUrl, applicationName: 'rpc-test', max: 3 });
  [first, second] = await Promise.all([spawnApi({ environment }), spawnApi({ environment })]);
});
afterAll(async () => {
  first?.kill('SIGKILL');
  second?.kill('SIGKILL');
  await pool?.end();
  await node?.close();
});

interface Payer {
  accountId: string;
  secret: string;
}

async function newPayer(): Promise<Payer> {
  const { id: accountId } = await createAccount(pool, { name: 'test' });
  const credit = { operationId: randomUUID(), accountId, currency: 'usd', amount: 10n ** 12n } as const;
  await grant(pool, { ...credit, notes: 'test' });
  const { secret } = await createKey(pool, { keyType: 'INFERENCE', accountId });
  return { accountId, secret };
}

function ask(api: Api, { secret }: Payer, request: { body: string; key?: string }): Promise<Response> {
  return fetch(`${api.baseUrl}/crypto/rpc/base-mainnet`, {
    method: 'POST',
    body: request.body,
    headers: {
      ...{ authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(request.key && { 'idempotency-key': request.key }),
    },
  });
}

const call = (method: string, param: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [param] });

async function unitsOf({ accountId }: Payer): Promise<string[]> {
  const { rows } = await pool.query<{ units: string }>(
    'select units::text from usage_entries where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ units }) => units);
}

it('serves a hundred of a thousand concurrent calls to two processes', async () => {
  const payer = await newPayer();
  const statuses = await Promise.all(
    Array.from({ length: 1_000 }, async (_value, index) => {
      const response = await ask(index % 2 ? first : second, payer, { body: call('eth_call', 'x') });
      await response.arrayBuffer();
      return response.status;
    }),
  );
  const count = (status: number) => statuses.filter((one) => one === status).length;
  expect([count(200), count(429)]).toEqual([100, 900]);
  expect(await unitsOf(payer)).toEqual(new Array(100).fill('20'));
});

it('submits a transaction once when a hundred equal requests reach two processes', async () => {
  const [payer, key] = [await newPayer(), randomUUID()];
  const raw = '0x02aa';
  const body = call('eth_sendRawTransaction', raw);
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_value, index) => {
      const response = await ask(index % 2 ? first : second, payer, { body, key });
      return `${response.status} ${await response.text()}`;
    }),
  );
  expect([...new Set(answers)]).toEqual([`200 {"jsonrpc":"2.0","id":1,"result":"${keccak256(raw)}"}`]);
  expect(node.handedIn.filter((one) => one === raw).length).toBe(1);
  expect(await unitsOf(payer)).toEqual(['20']);
});

describe('a process killed at a failpoint', () => {
  it.each([
    ['rpc-claimed', 0],
    ['rpc-held', 0],
    ['rpc-answered', 1],
    ['rpc-settled', 1],
  ])('leaves a transaction that is submitted and paid once: %s', async (point, handedIn) => {
    const [payer, key] = [await newPayer(), randomUUID()];
    const raw = `0x02${Buffer.from(point).toString('hex')}` as const;
    const body = call('eth_sendRawTransaction', raw);
    const dying = await spawnApi({ environment: { ...environment, FAREBOX_TEST_POINT: `${point}:kill` } });
    await expect(ask(dying, payer, { body, key })).rejects.toThrow();
    expect((await dying.exit).signal).toBe('SIGKILL');
    expect(node.handedIn.filter((one) => one === raw).length).toBe(handedIn);
    // The lease expires after 15 seconds. The test sets its end into the past.
    await pool.query(`update rpc_answers set leased_until = clock_timestamp() - interval '1 s' where key = $1`, [key]);
    const answer = await ask(second, payer, { body, key });
    expect([answer.status, await answer.text()]).toEqual([
      200,
      `{"jsonrpc":"2.0","id":1,"result":"${keccak256(raw)}"}`,
    ]);
    expect(answer.headers.get('x-service-rpc-credits')).toBe('20');
    expect(node.handedIn.filter((one) => one === raw).length).toBe(1);
    expect(await unitsOf(payer)).toEqual(['20']);
    const replay = await ask(first, payer, { body, key });
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
  });

  it('leaves a ledger in order after any of them', async () => {
    await until('all holds are over or wait for their end', async () => (await checkLedger(pool)).length === 0);
  });
});

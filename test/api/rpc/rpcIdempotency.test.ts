/** Idempotency-Key of the JSON-RPC proxy: one request to a node, one charge, one answer (RPC-8). */
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { keccak256 } from 'viem/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { armFailpoints } from '../../../infra/failpoints.ts';
import { purgeRpcAnswers } from '../../../infra/postgres/rpcAnswers.ts';
import { services } from '../../harness/services.ts';
import { until } from '../../harness/until.ts';
import { booked, call, messageOf, newPayer, post, type RpcPayer, type RpcWorld, startRpcWorld } from './rpcWorld.ts';

let first: RpcWorld;
let second: RpcWorld;
let payer: RpcPayer;

beforeAll(async () => {
  first = await startRpcWorld();
  second = await startRpcWorld({ environment: first.api.environment, node: first.node });
  payer = await newPayer(first);
});
afterAll(async () => {
  await second.close();
  await first.close();
});

const keyed = (key: string, body: string, more: { network?: string; world?: RpcWorld } = {}) =>
  post(more.world ?? first, payer, {
    body,
    headers: { 'idempotency-key': key },
    ...(more.network && { network: more.network }),
  });
const sql = () => first.api.opened.dependencies.core.sql;

/** Leaves the claim like a process that died: it stands, and its lease has ended. */
async function abandon(key: string): Promise<void> {
  await sql().query(
    `update rpc_answers set leased_until = clock_timestamp() - interval '1 second' where account_id = $1 and key = $2`,
    [payer.accountId, key],
  );
}

describe('the same key and body', () => {
  it('gets an identical answer, and costs nothing', async () => {
    const key = randomUUID();
    const one = await keyed(key, call('eth_call', '[7]'));
    const [asked, paid] = [first.node.requests, (await booked(first, payer)).length];
    for (const world of [first, second]) {
      const again = await keyed(key, call('eth_call', '[7]'), { world });
      expect([again.status, again.text]).toEqual([one.status, one.text]);
      for (const name of ['x-service-rpc-credits', 'x-service-rpc-cost-usd', 'x-request-id', 'content-type']) {
        expect(again.headers.get(name)).toBe(one.headers.get(name));
      }
      expect(again.headers.get('idempotent-replayed')).toBe('true');
    }
    expect(one.headers.get('idempotent-replayed')).toBeNull();
    expect([first.node.requests, (await booked(first, payer)).length]).toEqual([asked, paid]);
  });

  it.each([
    [' {"params":[{"b":1,"a":2}],\n"id":1,"method":"eth_call","jsonrpc":"2.0"} ', 200],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_c\\u0061ll","params":[{"a":2,"b":1}]}', 200],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"a":2.0,"b":1}]}', 400],
    ['{"jsonrpc":"2.0","id":2,"method":"eth_call","params":[{"a":2,"b":1}]}', 400],
    ['[{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"a":2,"b":1}]}]', 400],
  ])('%s is %i after the same call in another notation', async (body, status) => {
    const key = randomUUID();
    await keyed(key, '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"a":2,"b":1}]}');
    expect((await keyed(key, body)).status).toBe(status);
  });

  it('is refused on another network, and is independent in another account', async () => {
    const key = randomUUID();
    await keyed(key, call('eth_call'));
    const other = await keyed(key, call('eth_call'), { network: 'base-sepolia' });
    expect([other.status, messageOf(other)]).toEqual([400, expect.stringContaining('already used')]);
    const stranger = await newPayer(first);
    const headers = { 'idempotency-key': key };
    const theirs = await post(first, stranger, { body: call('eth_call', '[2]'), headers });
    expect([theirs.status, theirs.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });

  it('is new after 24 hours, and is removed by the upkeep', async () => {
    const key = randomUUID();
    await keyed(key, call('eth_call'));
    const age = `update rpc_answers set created_at = created_at - interval '25 hours' where account_id = $1 and key = $2`;
    await sql().query(age, [payer.accountId, key]);
    const again = await keyed(key, call('eth_call', '[2]'));
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, null]);
    await sql().query(age, [payer.accountId, key]);
    expect(await purgeRpcAnswers(sql(), { olderThanMs: 24 * 3_600_000, limit: 10 })).toBe(1);
  });

  it('stays claimed after 24 hours while its call is running', async () => {
    const key = randomUUID();
    const asked = first.node.requests;
    const one = keyed(key, call('eth_call', '["slow"]'));
    await until('it is with the node', () => first.node.requests > asked);
    const age = `update rpc_answers set created_at = created_at - interval '25 hours' where account_id = $1 and key = $2`;
    await sql().query(age, [payer.accountId, key]);
    expect(await purgeRpcAnswers(sql(), { olderThanMs: 24 * 3_600_000, limit: 10 })).toBe(0);
    // The claim is not taken over. When the call ends, the 24 hours are over, so the twin makes its own call.
    const twin = keyed(key, call('eth_call', '["slow"]'), { world: second });
    await sleep(500);
    expect(first.node.requests - asked).toBe(1);
    first.node.release();
    expect((await one).status).toBe(200);
    await until('the twin is with the node', () => first.node.requests > asked + 1);
    first.node.release();
    expect((await twin).status).toBe(200);
  });

  it('counts as a second attempt when it is abandoned, also after 24 hours', async () => {
    const key = randomUUID();
    await keyed(key, call('eth_call', '["kept"]'));
    await abandon(key);
    await sql().query(
      `update rpc_answers set status = null, body = null, body_bytes = null, credits = null, request_id = null, created_at = created_at - interval '25 hours' where account_id = $1 and key = $2`,
      [payer.accountId, key],
    );
    await keyed(key, call('eth_call', '["kept"]'));
    const { rows } = await sql().query('select attempt from rpc_answers where account_id = $1 and key = $2', [
      ...[payer.accountId, key],
    ]);
    expect(rows).toEqual([{ attempt: 2 }]);
  });

  it.each([
    ['', 400],
    ['a', 200],
    ['a'.repeat(255), 200],
    ['a'.repeat(256), 400],
    ['é', 400],
    ['a b', 400],
    ['a,b', 400],
  ])('as %s is %i', async (key, status) => {
    expect((await keyed(key, call('eth_call', '["keys"]'))).status).toBe(status);
  });
});

it('a hundred twins at once make one call, one charge and one answer', async () => {
  const key = randomUUID();
  const [asked, paid] = [first.node.requests, (await booked(first, payer)).length];
  const send = (index: number) => keyed(key, call('eth_call', '["slow"]'), { world: index % 2 ? first : second });
  const all = Promise.all(Array.from({ length: 100 }, (_value, index) => send(index)));
  await until('the first is with the node', () => first.node.requests > asked);
  first.node.release();
  const replies = await all;
  expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(new Set(replies.map(({ headers }) => headers.get('x-request-id'))).size).toBe(1);
  expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === 'true').length).toBe(99);
  expect([first.node.requests - asked, (await booked(first, payer)).length - paid]).toEqual([1, 1]);
});

describe('a failure', () => {
  it('is not kept, so that the key is free for another attempt', async () => {
    const key = randomUUID();
    const body = call('eth_call', '["status 500"]');
    expect((await keyed(key, body)).status).toBe(500);
    expect((await keyed(key, call('eth_call', '[3]'))).status).toBe(200);
  });

  it('of some items is kept with the answer', async () => {
    const key = randomUUID();
    const body = `[${call('eth_call')},${call('eth_call', '["error"]')}]`;
    const [one, two] = [await keyed(key, body), await keyed(key, body)];
    expect(two.headers.get('x-service-rpc-credits')).toBe('25');
    expect(two.text).toBe(one.text);
  });

  it('for insufficient funds is not kept', async () => {
    const poor = await newPayer(first, 1n);
    const headers = { 'idempotency-key': randomUUID() };
    expect((await post(first, poor, { body: call('eth_call'), headers })).status).toBe(402);
    expect((await post(first, poor, { body: call('eth_call', '[2]'), headers })).status).toBe(402);
  });
});

describe('a transaction that may have arrived', () => {
  const RAW = '0x02f86b01';
  const HASH = keccak256(RAW);
  /** The node receives it and fails. */
  const BROKEN = call('eth_sendRawTransaction', `["${RAW}","status 500"]`);

  async function lose(body: string, network = 'base-mainnet'): Promise<string> {
    const key = randomUUID();
    first.upstreams.transactions.clear();
    expect((await keyed(key, body, { network })).status).toBe(500);
    return key;
  }

  it('is not sent again when the network knows it', async () => {
    const key = await lose(BROKEN);
    first.upstreams.transactions.set(HASH, true);
    const [asked, paid] = [first.node.requests, (await booked(first, payer)).length];
    const again = await keyed(key, BROKEN);
    expect([again.status, again.text]).toEqual([200, `{"jsonrpc":"2.0","id":1,"result":"${HASH}"}`]);
    expect([first.node.requests - asked, (await booked(first, payer)).length - paid]).toEqual([0, 1]);
    expect((await keyed(key, BROKEN)).headers.get('idempotent-replayed')).toBe('true');
  });

  it('is not sent again while no node can tell', async () => {
    const key = await lose(BROKEN);
    const asked = first.node.requests;
    const replies = [await keyed(key, BROKEN), await keyed(key, BROKEN)];
    expect(replies.map(({ status }) => status)).toEqual([503, 503]);
    expect(replies.map(messageOf)[0]).toContain('Nothing was sent again');
    expect(first.node.requests).toBe(asked);
  });

  it('is looked up together with the others of its batch', async () => {
    const raws = Array.from({ length: 20 }, (_value, index) => `0x02${index.toString(16).padStart(2, '0')}`);
    const batch = raws.map((raw) => call('eth_sendRawTransaction', `["${raw}","status 500"]`)).join(',');
    const key = await lose(`[${batch}]`);
    const { knowsTransaction } = first.upstreams;
    let waiting = 0;
    let release = () => {};
    const all = new Promise<void>((resolve) => {
      release = resolve;
    });
    // No lookup is answered before all have started.
    first.upstreams.knowsTransaction = async () => {
      waiting += 1;
      if (waiting === raws.length) release();
      await all;
      return true;
    };
    const again = await keyed(key, `[${batch}]`);
    first.upstreams.knowsTransaction = knowsTransaction;
    const results = (JSON.parse(again.text) as { result: string }[]).map(({ result }) => result);
    expect(results).toEqual(raws.map((raw) => keccak256(raw as `0x${string}`)));
  });

  it('is sent again when the network does not know it', async () => {
    const key = await lose(BROKEN);
    first.upstreams.transactions.set(HASH, false);
    const asked = first.node.requests;
    await keyed(key, BROKEN);
    expect(first.node.requests).toBe(asked + 1);
  });

  it.each([
    ['base-mainnet', 'eth_sendUserOperation', '{}'],
    ['starknet-mainnet', 'starknet_addInvokeTransaction', '{}'],
    ['solana-devnet', 'requestAirdrop', '"a"'],
    ['base-mainnet', 'eth_sendRawTransaction', '"0x03aa"'],
    ['zksync-mainnet', 'eth_sendRawTransaction', '"0x71aa"'],
  ])('on %s by %s of %s cannot be looked up, and is not sent again', async (network, method, what) => {
    const body = call(method, `[${what},"status 500"]`);
    const key = await lose(body, network);
    const asked = first.node.requests;
    const again = await keyed(key, body, { network });
    expect([again.status, messageOf(again)]).toEqual([409, expect.stringContaining('use another key')]);
    expect(first.node.requests).toBe(asked);
  });

  it('is looked up by its first signature on Solana', async () => {
    const signature = Buffer.alloc(64, 7);
    const sent = Buffer.concat([Buffer.from([1]), signature, Buffer.alloc(100, 1)]).toString('base64');
    const body = call('sendTransaction', `["${sent}",{"encoding":"base64"},"status 500"]`);
    const key = await lose(body, 'solana-mainnet');
    const name = '99eUso3aSbE9tqGSTXzo3TLfKb9RkMTURrHKQ1K7Zh3BVVx1bxaNCe2dMnYxXfy5cGsFaeuBvNMSzcJhKDqgYkW';
    const [known] = [...(await namesAsked(() => keyed(key, body, { network: 'solana-mainnet' })))];
    expect(known?.length).toBeGreaterThanOrEqual(name.length - 1);
    first.upstreams.transactions.set(known ?? '', true);
    const again = await keyed(key, body, { network: 'solana-mainnet' });
    expect(JSON.parse(again.text)).toEqual({ jsonrpc: '2.0', id: 1, result: known });
  });

  /** Returns the transactions that were looked up during the work. */
  async function namesAsked(work: () => Promise<unknown>): Promise<Set<string>> {
    const names = new Set<string>();
    const { knowsTransaction } = first.upstreams;
    first.upstreams.knowsTransaction = async (_network, hash) => {
      names.add(hash);
      return undefined;
    };
    await work();
    first.upstreams.knowsTransaction = knowsTransaction;
    return names;
  }
});

describe('a client that disconnects', () => {
  async function leave(headers: Record<string, string>): Promise<void> {
    const asked = first.node.requests;
    const leaving = new AbortController();
    const pending = first.api
      .call('/crypto/rpc/base-mainnet', {
        ...{ method: 'POST', key: payer.key, body: call('eth_call', '["slow"]'), signal: leaving.signal },
        headers: { 'content-type': 'application/json', ...headers },
      })
      .catch(() => undefined);
    await until('the node has it', () => first.node.requests > asked);
    leaving.abort();
    await pending;
  }

  const heldNow = async () => {
    const { rows } = await sql().query('select from holds where account_id = $1', [payer.accountId]);
    return rows.length;
  };

  it('without a key pays nothing', async () => {
    const paid = (await booked(first, payer)).length;
    await leave({});
    await until('nothing is held', async () => (await heldNow()) === 0);
    first.node.release();
    expect((await booked(first, payer)).length - paid).toBe(0);
  });

  it('with a key pays once, and gets the answer when it returns', async () => {
    const key = randomUUID();
    const [asked, paid] = [first.node.requests, (await booked(first, payer)).length];
    await leave({ 'idempotency-key': key });
    const again = keyed(key, call('eth_call', '["slow"]'), { world: second });
    first.node.release();
    expect((await again).headers.get('idempotent-replayed')).toBe('true');
    expect([first.node.requests - asked, (await booked(first, payer)).length - paid]).toEqual([1, 1]);
  });
});

describe('a process that dies', () => {
  /** Pauses a request at this failpoint with a claim as of a dead process. The request continues later. */
  async function dead(key: string, at: string, body: string): Promise<void> {
    const file = path.join(services().folder, `rpc-point-${key}`);
    writeFileSync(file, `${at}:pause:1:1500`);
    armFailpoints(`@${file}`);
    stragglers.push(keyed(key, body).catch(() => undefined));
    await until('it stands still', () => existsSync(`${file}.fired`));
    expect(await rowsOf(key)).toBe(1);
    await abandon(key);
    armFailpoints(undefined);
  }
  const stragglers: Promise<unknown>[] = [];

  async function rowsOf(key: string): Promise<number> {
    const found = await sql().query('select from rpc_answers where account_id = $1 and key = $2', [
      payer.accountId,
      key,
    ]);
    return found.rowCount ?? 0;
  }

  it.each(['rpc-claimed', 'rpc-held', 'rpc-answered', 'rpc-settled'])(
    'at %s leads to a repeated read and one charge',
    async (at) => {
      const key = randomUUID();
      const paid = (await booked(first, payer)).length;
      const body = call('eth_call', `["${at}"]`);
      await dead(key, at, body);
      const again = await keyed(key, body, { world: second });
      expect([again.status, again.headers.get('x-service-rpc-credits')]).toEqual([200, '20']);
      const replayed = await keyed(key, body);
      expect([replayed.text, replayed.headers.get('idempotent-replayed')]).toEqual([again.text, 'true']);
      await Promise.all(stragglers);
      expect((await booked(first, payer)).length - paid).toBe(1);
    },
  );

  it.each(['rpc-answered', 'rpc-settled'])('at %s leads to a lookup of its transaction and one charge', async (at) => {
    const key = randomUUID();
    const raw = `0x02${Buffer.from(at).toString('hex')}`;
    const body = call('eth_sendRawTransaction', `["${raw}"]`);
    const paid = (await booked(first, payer)).length;
    await dead(key, at, body);
    const asked = first.node.requests;
    second.upstreams.transactions.set(keccak256(raw as `0x${string}`), true);
    const again = await keyed(key, body, { world: second });
    expect(JSON.parse(again.text).result).toBe(keccak256(raw as `0x${string}`));
    await Promise.all(stragglers);
    expect([first.node.requests - asked, (await booked(first, payer)).length - paid]).toEqual([0, 1]);
  });
});

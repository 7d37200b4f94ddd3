/** Large answers of the JSON-RPC proxy: the part that is kept for an Idempotency-Key, and their memory. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resultOf } from '../../../providers/rpc/rpcUpstreams.ts';
import { booked, call, messageOf, newPayer, post, type RpcPayer, type RpcWorld, startRpcWorld } from './rpcWorld.ts';

let world: RpcWorld;
let payer: RpcPayer;

beforeAll(async () => {
  world = await startRpcWorld();
  payer = await newPayer(world);
});
afterAll(async () => {
  await world.close();
});

const keyed = (key: string, body: string) => post(world, payer, { body, headers: { 'idempotency-key': key } });

describe('a large answer', () => {
  const pieces = (count: number) =>
    async function* () {
      yield Buffer.from('"');
      for (let piece = 0; piece < count; piece += 1) yield Buffer.from('a'.repeat(100_000));
      yield Buffer.from('"');
    };

  it('in pieces is kept up to a megabyte', async () => {
    const key = randomUUID();
    world.upstreams.streams.set('eth_getLogs', pieces(9));
    const [one, two] = [await keyed(key, call('eth_getLogs')), await keyed(key, call('eth_getLogs'))];
    expect(one.text.length).toBeGreaterThan(900_000);
    expect([two.text === one.text, two.headers.get('idempotent-replayed')]).toEqual([true, 'true']);
    expect(two.headers.get('x-service-rpc-credits')).toBe('20');
  });

  it('above a megabyte is answered once, and its repetition is refused as too large', async () => {
    const key = randomUUID();
    world.upstreams.streams.set('eth_getLogs', pieces(12));
    const paid = (await booked(world, payer)).length;
    const [one, two] = [await keyed(key, call('eth_getLogs')), await keyed(key, call('eth_getLogs'))];
    expect([one.status, two.status, messageOf(two)]).toEqual([200, 409, expect.stringContaining('too large')]);
    expect((await booked(world, payer)).length - paid).toBe(1);
  });

  it('of an account with many kept answers is not kept, but a small one is', async () => {
    const hoarder = await newPayer(world);
    await world.api.opened.dependencies.core.sql.query(
      `insert into rpc_answers (account_id, key, digest, owner, leased_until, operation_id, status, body, body_bytes, credits, request_id)
       values ($1, 'much', $2, $3, now(), 'x', 200, '', $4, 20, 'x')`,
      [hoarder.accountId, Buffer.alloc(32), randomUUID(), 64 * 1024 * 1024],
    );
    world.upstreams.streams.delete('eth_getLogs');
    const twice = async (params: string) => {
      const headers = { 'idempotency-key': randomUUID() };
      const body = call('eth_getLogs', params);
      const replies = [await post(world, hoarder, { body, headers }), await post(world, hoarder, { body, headers })];
      return replies.map(({ status }) => status);
    };
    expect(await twice(`["${'a'.repeat(5_000)}"]`)).toEqual([200, 409]);
    expect(await twice(`["${'a'.repeat(3_000)}"]`)).toEqual([200, 200]);
  });

  it('that breaks off is repeated for the same charge', async () => {
    const key = randomUUID();
    world.upstreams.streams.set('eth_getLogs', async function* () {
      yield Buffer.from('"a');
      throw new Error('broken off');
    });
    const paid = (await booked(world, payer)).length;
    // A client may repeat it this often. The limit stops a client that breaks the connection on purpose.
    for (let turn = 1; turn < 5; turn += 1) await keyed(key, call('eth_getLogs')).catch(() => undefined);
    world.upstreams.streams.set('eth_getLogs', pieces(1));
    const again = await keyed(key, call('eth_getLogs'));
    expect([again.status, again.headers.get('x-service-rpc-credits')]).toEqual([200, '20']);
    expect((await booked(world, payer)).length - paid).toBe(1);
  });

  it('that breaks off repeatedly is repeated a limited number of times', async () => {
    const key = randomUUID();
    let made = 0;
    world.upstreams.streams.set('eth_getLogs', async function* () {
      made += 1;
      yield Buffer.from('"a');
      throw new Error('broken off');
    });
    for (let turn = 0; turn < 6; turn += 1) await keyed(key, call('eth_getLogs')).catch(() => undefined);
    expect(made).toBe(5);
    expect((await keyed(key, call('eth_getLogs'))).status).toBe(409);
  });
});

describe('complete answers that no client reads', () => {
  const SIZE = 24_000_000;
  const ask = async (payer: RpcPayer) => {
    const response = await world.api.call('/crypto/rpc/base-mainnet', {
      ...{ method: 'POST', key: payer.key, body: `[${call('eth_getLogs')}]` },
      headers: { 'content-type': 'application/json' },
    });
    return response;
  };

  it('are limited to two of the largest per account, and the refused third is free', async () => {
    const { batch } = world.upstreams;
    const value = `"${'a'.repeat(SIZE)}"`;
    world.upstreams.batch = async () => [resultOf(value, false)];
    const [greedy, modest] = [await newPayer(world), await newPayer(world)];
    const unread = [await ask(greedy), await ask(greedy)];
    const refused = await ask(greedy);
    const other = await ask(modest);
    expect([...unread, refused, other].map(({ status }) => status)).toEqual([200, 200, 503, 200]);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await booked(world, greedy)).length).toBe(2);
    const texts = await Promise.all([...unread, other].map((response) => response.text()));
    expect(texts.every((text) => text === `[{"jsonrpc":"2.0","id":1,"result":${value}}]`)).toBe(true);
    const again = await ask(greedy);
    await again.body?.cancel();
    expect(again.status).toBe(200);
    await expect.poll(async () => (await ask(greedy)).status).toBe(200);
    world.upstreams.batch = batch;
  });
});

/** The JSON-RPC proxy: admitted requests, their answers, and their prices to the last nano. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { type RpcOutcome, resultOf } from '../../../providers/rpc/rpcUpstreams.ts';
import { PUBLISHED_NETWORKS } from '../../fixtures/publishedNetworks.ts';
import { booked, call, messageOf, newPayer, post, type RpcPayer, type RpcWorld, startRpcWorld } from './rpcWorld.ts';

let world: RpcWorld;
let payer: RpcPayer;

beforeAll(async () => {
  const published = { aliases: ['venice'] };
  world = await startRpcWorld({
    config: (config) => ({ ...config, brand: { ...config.brand, ...published } }),
  });
  payer = await newPayer(world);
});
afterAll(async () => {
  await world.close();
});

const send = (body: string, more: { network?: string; headers?: Record<string, string> } = {}) =>
  post(world, payer, { body, ...more });
const creditsOf = (reply: { headers: Headers }) => reply.headers.get('x-service-rpc-credits');

it('lists the twenty-seven networks in alphabetical order', async () => {
  const response = await world.api.call('/crypto/rpc/networks', { key: payer.key });
  const { networks } = (await response.json()) as { networks: string[] };
  expect(networks).toEqual(PUBLISHED_NETWORKS);
});

describe('an answer', () => {
  it('is an object for an object, with its price in the headers and the books', async () => {
    const before = (await booked(world, payer)).length;
    const reply = await send(call('eth_getBalance', '["0x1", "latest"]'));
    expect(reply.text).toBe('{"jsonrpc":"2.0","id":1,"result":["0x1","latest"]}');
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
    expect(creditsOf(reply)).toBe('20');
    expect(reply.headers.get('x-service-rpc-cost-usd')).toBe('0.00001400');
    expect(reply.headers.get('x-venice-rpc-credits')).toBe('20');
    expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
    expect(reply.headers.get('idempotent-replayed')).toBeNull();
    const added = (await booked(world, payer)).slice(before);
    expect(added).toEqual([{ sku: 'crypto-rpc-base-mainnet', units: '20', amount: '14000' }]);
  });

  it('has the headers of the window of requests, and those of refusals only in a refusal', async () => {
    const reply = await send(call('eth_chainId'));
    const names = [...reply.headers.keys()].filter((name) => name.startsWith('x-ratelimit'));
    const words = ['limit', 'remaining', 'reset'];
    expect(names.sort()).toEqual(words.map((word) => `x-ratelimit-${word}-requests`));
  });

  it.each([
    ['base-mainnet', call('trace_block'), '40', '0.00002800'],
    ['base-mainnet', call('txpool_content'), '80', '0.00005600'],
    ['solana-mainnet', call('getBalance'), '30', '0.00002100'],
    ['solana-mainnet', call('getSupply'), '120', '0.00008400'],
    ['zksync-mainnet', call('zks_getFeeParams'), '30', '0.00002100'],
    ['starknet-mainnet', call('starknet_call'), '20', '0.00001400'],
    ['base-mainnet', call('eth_call', '["error"]'), '5', '0.00000350'],
    ['base-mainnet', call('trace_block', '["error"]'), '5', '0.00000350'],
    ['base-mainnet', call('eth_call', '["other id"]'), '5', '0.00000350'],
    ['base-mainnet', call('eth_call', '["no id"]'), '5', '0.00000350'],
    ['base-mainnet', call('eth_call', '["both"]'), '5', '0.00000350'],
    ['base-mainnet', call('eth_call', '["status 403"]'), '5', '0.00000350'],
    ['base-mainnet', `[${call('eth_call')},${call('eth_call', '["error"]')}]`, '25', '0.00001750'],
    ['base-mainnet', `[${call('eth_call')},${call('eth_call', '["status 404"]')}]`, '10', '0.00000700'],
  ])('on %s: %s costs %s credits', async (network, body, credits, cost) => {
    const reply = await send(body, { network });
    expect([reply.status, creditsOf(reply), reply.headers.get('x-service-rpc-cost-usd')]).toEqual([200, credits, cost]);
  });

  it.each([
    ['429', 503],
    ['402', 503],
    ['500', 500],
    ['503', 500],
  ])('of a node with status %s costs nothing and is an internal error', async (status, ours) => {
    const before = await booked(world, payer);
    const reply = await send(call('eth_call', `["status ${status}"]`));
    expect([reply.status, creditsOf(reply)]).toEqual([ours, null]);
    expect(await booked(world, payer)).toEqual(before);
  });

  it.each([
    ...['1', '0', '-0', '12345678901234567890', '1e400', '1.50', '-7'],
    ...['"a"', '""', '"\\u00e9\\ud800"', 'null', '"12345678901234567890"'],
  ])('returns the id %s unchanged', async (id) => {
    const reply = await send(call('eth_chainId', '[]', id));
    const shown = id.replace('\\u00e9', 'é');
    expect(reply.text).toBe(`{"jsonrpc":"2.0","id":${shown},"result":[]}`);
    const batch = await send(`[${call('eth_chainId', '[]', id)},${call('eth_chainId', '[1]', id)}]`);
    expect(batch.text).toBe(
      `[{"jsonrpc":"2.0","id":${shown},"result":[]},{"jsonrpc":"2.0","id":${shown},"result":[1]}]`,
    );
  });

  it('of a hundred items keeps their order', async () => {
    const ids = Array.from({ length: 100 }, (_value, index) => String((index * 37) % 100));
    const reply = await send(`[${ids.map((id) => call('eth_call', `[${id}]`, id)).join(',')}]`);
    const items = JSON.parse(reply.text) as { id: number; result: number[] }[];
    expect(items.map(({ id }) => String(id))).toEqual(ids);
    expect(items.every(({ id, result }) => result[0] === id)).toBe(true);
    expect(creditsOf(reply)).toBe('2000');
  });

  it('needs no "jsonrpc" and no params', async () => {
    expect((await send('{"method":"eth_chainId","id":1}')).text).toBe('{"jsonrpc":"2.0","id":1,"result":null}');
  });
});

describe('a dry run', () => {
  const dry = { headers: { 'x-service-dry-run': 'true', 'idempotency-key': 'dry' } };
  it.each([
    ['a call', call('eth_getBalance', '["0x1", "latest"]'), 0.000014],
    ['a transaction', call('eth_sendRawTransaction', '["0x00"]'), 0.000014],
    ['a batch', `[${call('eth_chainId')},${call('trace_block')}]`, 0.000042],
  ])('of %s returns the highest possible price, without a node request or a charge', async (_what, body, cost) => {
    const before = [world.node.requests, (await booked(world, payer)).length];
    const reply = await send(body, dry);
    expect([reply.status, JSON.parse(reply.text)]).toEqual([
      200,
      { object: 'dry_run', cost: { usd: cost, diem: cost } },
    ]);
    expect([world.node.requests, (await booked(world, payer)).length]).toEqual(before);
  });

  it('leaves its Idempotency-Key to the call itself', async () => {
    const real = { headers: { 'idempotency-key': 'dry' } };
    const reply = await send(call('eth_chainId'), real);
    expect([reply.status, reply.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });

  it('of an invalid request is refused', async () => {
    expect((await send(call('eth_sign'), dry)).status).toBe(400);
  });
});

describe('refusals without a charge and without a node request', () => {
  const many = (count: number) => `[${Array.from({ length: count }, () => call('eth_chainId')).join(',')}]`;
  it.each([
    ['nothing', '', 'Invalid JSON'],
    ['half', '{"method":', 'Invalid JSON'],
    ['two values', `${call('eth_chainId')} 1`, 'Invalid JSON'],
    ['a number', '1', 'must be a JSON object'],
    ['0 items', '[]', 'at least one'],
    ['101 items', many(101), 'at most 100'],
    ['a nested batch', `[[${call('eth_chainId')}]]`, 'Item 0: a call must be a JSON object'],
    ['params as an object', '{"method":"eth_call","params":{},"id":1}', '"params" must be an array'],
    ['params as a string', '{"method":"eth_call","params":"","id":1}', '"params" must be an array'],
    ['params null', '{"method":"eth_call","params":null,"id":1}', '"params" must be an array'],
    ['another version', '{"jsonrpc":"1.0","method":"eth_call","id":1}', '"jsonrpc" must be'],
    ['a version as a number', '{"jsonrpc":2.0,"method":"eth_call","id":1}', '"jsonrpc" must be'],
    ['no method', '{"id":1}', '"method" must be a string'],
    ['a list of methods', '{"id":1,"method":["eth_call"]}', '"method" must be a string'],
    ['no id', '{"method":"eth_call","params":[]}', 'notifications are not supported'],
    ['an object as id', '{"method":"eth_call","id":{}}', '"id" must be'],
    ['true as id', '{"method":"eth_call","id":true}', '"id" must be'],
    ['a further member', '{"method":"eth_call","id":1,"extra":1}', 'unknown member "extra"'],
    ['a method twice', '{"method":"eth_call","id":1,"method":"eth_sign"}', '"method" comes twice'],
    ['an id twice, once escaped', '{"method":"eth_call","id":1,"i\\u0064":2}', '"id" comes twice'],
    ['a name twice deep inside', '{"method":"eth_call","id":1,"params":[{"a":1,"a":2}]}', '"a" comes twice'],
    ['too deep', `{"method":"eth_call","id":1,"params":${'['.repeat(64)}${']'.repeat(64)}}`, 'nested more than'],
    ['too many values', `{"method":"eth_call","id":1,"params":[${'1,'.repeat(20_001)}1]}`, 'more than 20000'],
    ['a byte order mark', `\ufeff${call('eth_chainId')}`, 'Invalid JSON'],
    ['another case', call('ETH_call'), '"ETH_call" (not on the list'],
    ['a space', call('eth_call '), '"eth_call " (not on the list'],
    ['a NUL', call('eth_call\0'), '"eth_call\\u0000" (not on the list'],
    ['a look-alike', call('еth_call'), '"\\u0435th_call" (not on the list'],
    ['a prototype', call('constructor'), '"constructor" (not on the list'],
    ['a long one', call('x'.repeat(70)), `"${'x'.repeat(64)}\\u2026" (not on the list`],
  ])('%s', async (_name, body, words) => {
    const before = [world.node.requests, (await booked(world, payer)).length];
    const reply = await send(body);
    expect([reply.status, messageOf(reply)]).toEqual([400, expect.stringContaining(words)]);
    expect(creditsOf(reply)).toBeNull();
    expect([world.node.requests, (await booked(world, payer)).length]).toEqual(before);
  });

  it('a batch with bad methods, each of which is named once', async () => {
    const methods = ['eth_newFilter', 'eth_call', 'eth_sign', 'getBalance', 'foo', 'foo'];
    const reply = await send(`[${methods.map((method) => call(method)).join(',')}]`);
    expect(messageOf(reply)).toBe(
      'Unsupported on base-mainnet: "eth_newFilter" (a filter kept by one node; use eth_getLogs), ' +
        `"eth_sign" (needs a node's own keys or mining), "getBalance" (of another network), ` +
        '"foo" (not on the list of admitted methods).',
    );
  });

  it.each([
    ['base-mainnet', 'eth_subscribe'],
    ['solana-mainnet', 'accountSubscribe'],
    ['solana-mainnet', 'slotUnsubscribe'],
    ['starknet-mainnet', 'starknet_subscribeNewHeads'],
  ])('on %s the WebSocket method %s, which is named alone', async (network, method) => {
    const reply = await send(`[${call('foo')},${call(method)}]`, { network });
    expect([reply.status, messageOf(reply)]).toEqual([
      400,
      `Method "${method}" needs a WebSocket, which this endpoint does not have.`,
    ]);
  });

  it('an unknown network', async () => {
    expect((await send(call('eth_call'), { network: 'base' })).status).toBe(400);
  });

  it('a body above a megabyte', async () => {
    const reply = await send(call('eth_call', `["${'a'.repeat(1024 * 1024)}"]`));
    expect([reply.status, messageOf(reply)]).toEqual([413, 'Request body exceeds the maximum allowed size.']);
  });

  it('bytes that are no UTF-8, another media type, no key', async () => {
    const path = '/crypto/rpc/base-mainnet';
    const body = Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    const json = { 'content-type': 'application/json' };
    const { key } = payer;
    const odd = await world.api.call(path, { method: 'POST', key, body, headers: json });
    const plain = await world.api.call(path, { method: 'POST', key, body: call('eth_chainId') });
    const nobody = await world.api.call(path, { method: 'POST', body: call('eth_chainId'), headers: json });
    expect([odd.status, plain.status, nobody.status]).toEqual([400, 400, 402]);
  });

  it('a network without a node, with the name of its setting', async () => {
    const all = world.upstreams.networks;
    Object.assign(world.upstreams, { networks: new Set() });
    const reply = await send(call('eth_call'));
    Object.assign(world.upstreams, { networks: all });
    expect([reply.status, messageOf(reply)]).toEqual([503, expect.stringContaining('rpc.networks.base-mainnet')]);
  });

  it('an account without funds', async () => {
    const poor = await newPayer(world, 13_999n);
    const asked = world.node.requests;
    expect((await post(world, poor, { body: call('eth_call') })).status).toBe(402);
    expect(world.node.requests).toBe(asked);
    expect((await post(world, await newPayer(world, 100_000n), { body: call('eth_call') })).status).toBe(200);
  });
});

describe('a kept answer', () => {
  it.each([
    [[true], 'hit', false],
    [[true, true], 'hit', true],
    [[true, false, true], 'hit; items=0,2', true],
    [[false, false], null, true],
  ])('%j is marked as %s, and costs the same', async (cached, mark, isBatch) => {
    const outcomes = cached.map((each): RpcOutcome => resultOf('1', each));
    const { batch, single } = world.upstreams;
    world.upstreams.batch = async () => outcomes;
    world.upstreams.single = async () => outcomes[0] as RpcOutcome;
    const calls = cached.map(() => call('eth_chainId')).join(',');
    const reply = await send(isBatch ? `[${calls}]` : calls);
    Object.assign(world.upstreams, { batch, single });
    expect(reply.headers.get('x-service-rpc-cache')).toBe(mark);
    expect(creditsOf(reply)).toBe(String(20 * cached.length));
  });
});

describe('unanswered items of a batch', () => {
  it('are errors beside the other results, and free', async () => {
    const { batch } = world.upstreams;
    const failed = (reason: 'capacity' | 'timeout' | 'too_large'): RpcOutcome => {
      return { kind: 'failed', reason, sent: true };
    };
    const result: RpcOutcome = resultOf('"ok"', false);
    world.upstreams.batch = async () => [failed('timeout'), result, failed('too_large'), failed('capacity')];
    const reply = await send(`[${['1', '2', '3', '4'].map((id) => call('eth_call', '[]', id)).join(',')}]`);
    world.upstreams.batch = batch;
    expect([reply.status, creditsOf(reply)]).toEqual([200, '20']);
    const items = JSON.parse(reply.text) as { id: number; result?: string; error?: { code: number } }[];
    expect(items.map(({ id, result, error }) => [id, result ?? error?.code])).toEqual([
      [1, -32603],
      [2, 'ok'],
      [3, -32603],
      [4, -32603],
    ]);
  });
});

describe('a large result', () => {
  async function* pieces() {
    for (let piece = 0; piece < 64; piece += 1) yield Buffer.from(piece === 0 ? '"' : 'a'.repeat(65_536));
    yield Buffer.from('"');
  }

  it('arrives in pieces and is charged before the first', async () => {
    world.upstreams.streams.set('debug_traceTransaction', pieces);
    const reply = await send(call('debug_traceTransaction', '["0x1"]', '"x"'));
    expect([reply.status, creditsOf(reply)]).toEqual([200, '40']);
    expect((JSON.parse(reply.text) as { result: string }).result.length).toBe(63 * 65_536);
    expect((await booked(world, payer)).at(-1)?.units).toBe('40');
  });
});

it('leaves consistent books', async () => {
  expect(await checkLedger(world.api.opened.dependencies.core.sql)).toEqual([]);
});

/** A request is admitted or refused as a whole, with the reason, before it costs anything. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RpcNetwork } from '../../../domain/rpc/networks.ts';
import { RPC_NETWORKS } from '../../../domain/rpc/networks.ts';
import { hasWrites, readRpcRequest } from '../../../domain/rpc/request.ts';

type Member = [name: string, json: string];

function networkOf(slug: string): RpcNetwork {
  const network = RPC_NETWORKS.get(slug);
  if (!network) throw new Error(`no ${slug}`);
  return network;
}

const read = (text: string, slug = 'ethereum-mainnet') => readRpcRequest(Buffer.from(text), networkOf(slug));
const call = (method: string, params?: string) =>
  `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)}${params === undefined ? '' : `,"params":${params}`}}`;
const batch = (...calls: string[]) => `[${calls.join(',')}]`;

function refusalOf(text: string, slug?: string): { code: unknown; message: string } {
  try {
    read(text, slug);
  } catch (error) {
    const { code, message } = error as { code: unknown; message: string };
    return { code, message };
  }
  throw new Error(`admitted: ${text.slice(0, 200)}`);
}

describe('the credits of a request', () => {
  it.each([
    ['ethereum-mainnet', [call('eth_chainId')], 20],
    ['ethereum-mainnet', [call('trace_block')], 40],
    ['ethereum-mainnet', [call('txpool_content')], 80],
    ['ethereum-mainnet', [call('eth_chainId'), call('trace_block'), call('txpool_content')], 140],
    ['ethereum-mainnet', Array(100).fill(call('eth_call', '[{}]')), 2_000],
    ['zksync-mainnet', [call('zks_L1ChainId'), call('debug_traceCall')], 90],
    ['solana-mainnet', [call('getBalance'), call('getSupply')], 150],
    ['starknet-mainnet', [call('starknet_traceTransaction')], 20],
  ])('on %s are the sum of its calls', (slug, calls, credits) => {
    expect(read(batch(...calls), slug).credits).toBe(credits);
  });

  it('are the same for a single call and a batch of one', () => {
    const [alone, inBatch] = [read(call('eth_getLogs')), read(batch(call('eth_getLogs')))];
    expect([alone.credits, alone.isBatch]).toEqual([inBatch.credits, false]);
    expect(inBatch.isBatch).toBe(true);
  });
});

describe('a request', () => {
  it.each([
    ['[]', 'A batch needs at least one item.'],
    [batch(...Array(101).fill(call('eth_chainId'))), 'A batch has at most 100 items; this one has 101.'],
    ['1', 'a call must be a JSON object.'],
    ['null', 'a call must be a JSON object.'],
    [batch(call('eth_chainId'), '7'), 'Item 1: a call must be a JSON object.'],
    ['{"id":1,"method":"eth_chainId","extra":1}', 'unknown member "extra".'],
    ['{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}', '"jsonrpc" must be "2.0".'],
    ['{"id":1}', '"method" must be a string.'],
    ['{"id":1,"method":7}', '"method" must be a string.'],
    [call('eth_chainId', '{}'), '"params" must be an array.'],
    ['{"id":{},"method":"eth_chainId"}', '"id" must be a string, a number or null.'],
    ['{"method":"eth_chainId"}', '"id" is required: notifications are not supported.'],
    ['{"id":1,"id":2,"method":"eth_chainId"}', 'The name "id" comes twice in one object.'],
    [call('eth_call', '[{"to":"a","to":"b"}]'), 'The name "to" comes twice in one object.'],
    [call('eth_call', `${'['.repeat(64)}${']'.repeat(64)}`), 'The JSON body is nested more than 64 levels deep.'],
    [call('eth_call', `[${'1,'.repeat(20_000)}1]`), 'The JSON body has more than 20000 values.'],
  ])('%.60s is refused with its reason', (text, message) => {
    expect(refusalOf(text)).toEqual({ code: 'invalid_request', message });
  });

  it.each(['', ' ', '{', '{"id":1,}', `${call('eth_chainId')}x`, "{'id':1}", '\ufeff{}', 'NaN'])(
    '%j is refused as invalid JSON',
    (text) => {
      expect(refusalOf(text)).toEqual({ code: 'invalid_json', message: 'Invalid JSON request' });
    },
  );

  it('is admitted up to its limits', () => {
    expect(read(batch(...Array(100).fill(call('eth_chainId')))).calls.length).toBe(100);
    const deepest = `${'['.repeat(62)}1${']'.repeat(62)}`;
    expect(read(call('eth_call', deepest)).calls.params(0)).toBe(deepest);
    const longest = `[${'1,'.repeat(19_000)}1]`;
    expect(read(call('eth_call', longest)).calls.params(0)).toBe(longest);
  });

  it.each([
    [
      'ethereum-mainnet',
      ['eth_subscribe'],
      'Method "eth_subscribe" needs a WebSocket, which this endpoint does not have.',
    ],
    [
      'ethereum-mainnet',
      ['eth_newFilter', 'eth_accounts'],
      'Unsupported on ethereum-mainnet: "eth_newFilter" (a filter kept by one node; use eth_getLogs), ' +
        `"eth_accounts" (needs a node's own keys or mining).`,
    ],
    ['base-mainnet', ['getSlot'], 'Unsupported on base-mainnet: "getSlot" (of another network).'],
    [
      'solana-mainnet',
      ['requestAirdrop', 'eth_call'],
      'Unsupported on solana-mainnet: "requestAirdrop" (of another network), "eth_call" (of another network).',
    ],
    [
      'ethereum-mainnet',
      ['nonsense', 'nonsense'],
      'Unsupported on ethereum-mainnet: "nonsense" (not on the list of admitted methods).',
    ],
    [
      'ethereum-mainnet',
      ['еth_call'],
      'Unsupported on ethereum-mainnet: "\\u0435th_call" (not on the list of admitted methods).',
    ],
  ])('on %s with %j among its calls is refused as a whole', (slug, methods, message) => {
    const admitted = [...Array(3)].map(() => call(slug.startsWith('solana') ? 'getBalance' : 'eth_chainId'));
    const calls = methods.map((method) => call(method));
    expect(refusalOf(batch(...admitted, ...calls), slug)).toEqual({ code: 'invalid_request', message });
  });

  it('is refused with the first 64 characters of a long method', () => {
    const { message } = refusalOf(call('x'.repeat(10_000)));
    expect(message).toContain(`"${'x'.repeat(64)}\\u2026"`);
    expect(message.length).toBeLessThan(200);
  });

  it.each([
    ['ethereum-mainnet', 'eth_call', false],
    ['ethereum-mainnet', 'eth_sendRawTransaction', true],
    ['ethereum-mainnet', 'eth_sendUserOperation', true],
    ['zksync-mainnet', 'zks_sendRawTransactionWithDetailedOutput', true],
    ['solana-mainnet', 'sendTransaction', true],
    ['solana-devnet', 'requestAirdrop', true],
    ['solana-mainnet', 'simulateTransaction', false],
    ['starknet-mainnet', 'starknet_addInvokeTransaction', true],
    ['starknet-mainnet', 'starknet_call', false],
  ])('on %s with %s is a write: %s', (slug, method, isWrite) => {
    expect(hasWrites(read(call(method), slug))).toBe(isWrite);
    const harmless = call(slug.startsWith('solana') ? 'getBalance' : `${method.split('_')[0]}_chainId`);
    const known = slug.startsWith('zksync') ? call('eth_chainId') : harmless;
    expect(hasWrites(read(batch(known, call(method)), slug))).toBe(isWrite);
  });
});

describe('the canonical text of a request', () => {
  const member = fc.constantFrom<Member>(
    ['jsonrpc', '"2.0"'],
    ['id', '7'],
    ['method', '"eth_call"'],
    ['params', '[{"b":1.50,"a":"x"}]'],
  );
  const order = fc.uniqueArray(member, { minLength: 4, maxLength: 4, selector: ([name]) => name });
  const space = fc.constantFrom('', ' ', '\n', '\t ');

  it('is the same for any order of members and any white space', () => {
    const ordered = read('{"id":7,"jsonrpc":"2.0","method":"eth_call","params":[{"a":"x","b":1.50}]}').canonical();
    fc.assert(
      fc.property(order, space, space, (members, before, after) => {
        const written = members.map(([name, json]) => `${before}"${name}"${after}:${before}${json}${after}`);
        expect(read(`${before}{${written.join(',')}}${after}`).canonical()).toBe(ordered);
      }),
    );
  });

  it.each([
    [call('eth_call', '[1]'), call('eth_call', '[2]')],
    [call('eth_call', '[1.0]'), call('eth_call', '[1]')],
    [call('eth_call', '[1,2]'), call('eth_call', '[2,1]')],
    [call('eth_call', '[9007199254740993]'), call('eth_call', '[9007199254740992]')],
    [call('eth_call'), batch(call('eth_call'))],
    [call('eth_call'), call('eth_getLogs')],
  ])('differs for %s and %s', (one, other) => {
    expect(read(one).canonical()).not.toBe(read(other).canonical());
  });

  it('is the same for a character and its escape', () => {
    expect(read(call('eth_call', '["\\u0061\\u00e9"]')).canonical()).toBe(read(call('eth_call', '["aé"]')).canonical());
  });
});

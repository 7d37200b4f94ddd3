/** Calls that are accepted as sent are read like the same calls after a rewrite. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { jsonBytes } from '../../../domain/json/jsonBytes.ts';
import { JsonProblem } from '../../../domain/json/jsonLimits.ts';
import { CallReader } from '../../../domain/rpc/callReader.ts';
import { RPC_NETWORKS, type RpcNetwork } from '../../../domain/rpc/networks.ts';
import { MAX_ITEMS, RPC_JSON_LIMITS, readRpcRequest } from '../../../domain/rpc/request.ts';
import { RpcCalls } from '../../../domain/rpc/rpcCalls.ts';

const RUNS = process.env.FAREBOX_TEST_LONG ? 200_000 : 5_000;
const NETWORK = RPC_NETWORKS.get('ethereum-mainnet') as RpcNetwork;
const LIMITS = { json: RPC_JSON_LIMITS, items: MAX_ITEMS };

/** Undefined if the text must be rewritten first. */
function plain(text: string): CallReader | undefined {
  const reader = new CallReader(jsonBytes(text), LIMITS);
  try {
    return reader.read() ? reader : undefined;
  } catch (error) {
    if (error instanceof JsonProblem) return undefined;
    throw error;
  }
}

function listOf(calls: RpcCalls) {
  return Array.from({ length: calls.length }, (_, index) => {
    return { id: calls.id(index), method: calls.method(index), params: calls.params(index) };
  });
}

/** Full result of a text. A leading white space forces the rewrite. */
function made(text: string): unknown {
  try {
    const { calls, canonical, ...read } = readRpcRequest(Buffer.from(text), NETWORK);
    return { ...read, calls: listOf(calls), canonical: canonical() };
  } catch (error) {
    if (error instanceof FareboxError) return { code: error.code, message: error.message };
    throw error;
  }
}

function expectSame(text: string): void {
  // A lone surrogate is not UTF-8 and would change in the encoding.
  fc.pre(Buffer.from(text).toString() === text);
  expect(plain(` ${text}`)).toBeUndefined();
  expect(made(text), JSON.stringify(text)).toEqual(made(` ${text}`));
}

const NUMBERS = ['0', '-0', '7', '-1', '1.50', '1e21', '1E+2', '12345678901234567890', '01', '-', '1.', '.5'];
const NAMES = ['a', 'b', '1', '2', '__proto__', 'constructor', '\\u0061', 'é', 'a b', '\\ud800'];
const scalar = fc.oneof(
  fc.constantFrom(...NUMBERS, 'true', 'false', 'null', 'nul', '""', '"latest"', '"\\n"', '"é"', '"\u007f"'),
  fc.stringMatching(/^[ -~]{0,6}$/).map((text) => JSON.stringify(text)),
);
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    fc
      .array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, inside]) => `"${name}":${inside}`).join(',')}}`),
  ),
}));

const member = fc.oneof(
  { weight: 6, arbitrary: fc.constant('"jsonrpc":"2.0"') },
  { weight: 6, arbitrary: fc.constantFrom('"method":"eth_call"', '"method":"eth_chainId"', '"method":"x"') },
  { weight: 6, arbitrary: fc.constantFrom('"id":1', '"id":"a"', '"id":null', '"id":12345678901234567890') },
  { weight: 6, arbitrary: fc.array(value, { maxLength: 3 }).map((items) => `"params":[${items.join(',')}]`) },
  { weight: 1, arbitrary: value.map((text) => `"params":${text}`) },
  { weight: 1, arbitrary: value.map((text) => `"id":${text}`) },
  { weight: 1, arbitrary: fc.constantFrom('"jsonrpc":"2.00"', '"jsonrpc":2.0', '"i\\u0064":1', '"idx":1') },
);
const whole = fc.tuple(member, member, member, member).map((members) => `{${[...new Set(members)].join(',')}}`);
const right = fc
  .tuple(fc.constantFrom('1', '-7', '"a"', 'null', '0.50'), fc.array(value, { maxLength: 3 }))
  .map(([id, params]) => `{"method":"eth_call","params":[${params.join(',')}],"id":${id},"jsonrpc":"2.0"}`);
const item = fc.oneof(whole, right);
const sent = fc.oneof(
  item,
  fc.array(item, { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
);

describe('calls without a rewrite', () => {
  it('are read like rewritten ones', () => {
    fc.assert(fc.property(sent, expectSame), { numRuns: RUNS });
  });

  it('are read like rewritten ones when the text is damaged', () => {
    const letter = fc.constantFrom(...'{}[],:"\\u0019-+.eEtfnl \n\u0001é'.split(''));
    const damaged = fc.tuple(sent, fc.nat(), letter, fc.constantFrom(0, 1)).map(([text, place, put, gone]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + put + text.slice(at + gone);
    });
    fc.assert(fc.property(damaged, expectSame), { numRuns: RUNS * 2 });
  });

  it('include those that programs write', () => {
    const text = fc.stringMatching(/^[ !#-[\]-~]{0,20}$/);
    const written = fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.oneof(fc.integer(), text, fc.constant(null)),
      method: text,
      params: fc.array(
        fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.dictionary(text, text, { maxKeys: 9 })),
      ),
    });
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: MAX_ITEMS }), (calls) => {
        const { placed, names = [], problem } = plain(JSON.stringify(calls)) ?? {};
        expect(problem).toBeUndefined();
        const methods = names.map((name) => ({ name, isWrite: false, credits: 0 }));
        expect(placed && listOf(new RpcCalls(placed, methods))).toEqual(
          calls.map(({ id, params }, index) => {
            return { id: JSON.stringify(id), method: methods[index], params: JSON.stringify(params) };
          }),
        );
        expect(names).toEqual(calls.map(({ method }) => method));
      }),
      { numRuns: RUNS / 10 },
    );
  });

  it('include text in any script', () => {
    const text = call('["é",{"ключ":"值"},"😀\u2028"]');
    expect(plain(text)).toBeDefined();
    expectSame(text);
  });

  const call = (params: string) => `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":${params}}`;
  it.each([
    ['a name that comes twice', call('[{"a":1,"b":2,"a":1}]')],
    ['the same far apart', call(`[{${Array.from({ length: 16 }, (_, n) => `"n${n}":1`).join(',')},"n0":1}]`)],
    ['white space', call('[ ]')],
    ['an escape', call('["\\u0061"]')],
    ['too deep', call('['.repeat(64) + ']'.repeat(64))],
    ['too many values', call(`[${'1,'.repeat(20_000)}1]`)],
    ['more than one value', `${call('[]')}1`],
    ['nothing', ''],
  ])('exclude %s', (_what, text) => {
    expect(plain(text)).toBeUndefined();
    expectSame(text);
  });

  it.each([
    ['too many items', `[${Array.from({ length: 101 }, () => call('[]')).join(',')}]`],
    ['no items', '[]'],
    ['what is no call', `[${call('[]')},1,{"id":1}]`],
    ['the version twice', '{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"eth_call"}'],
    ['escapes in names', '{"\\u0069d":1,"method":"eth\\u005fcall","a\\u0062":1}'],
    ['two members that no call has', '[{"b":[{"c":1}],"a":"x","method":"eth_call","id":1}]'],
  ])('are read like rewritten ones with %s', (_what, text) => {
    expectSame(text);
  });
});

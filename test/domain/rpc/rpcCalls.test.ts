/** Calls of one request keep their ids and params as sent, digit for digit. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonBytes } from '../../../domain/json/jsonBytes.ts';
import { anyCostIsChosen, hasHeavyCall } from '../../../domain/rpc/methodCost.ts';
import { ownCall, placeCalls, RpcCalls } from '../../../domain/rpc/rpcCalls.ts';

const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value));
const sent = fc.array(
  fc.record({
    id: json,
    params: fc.option(
      json.map((text) => `[${text}]`),
      { nil: undefined },
    ),
  }),
  { minLength: 1, maxLength: 20 },
);
const methodOf = (name: string) => ({ name, isWrite: false, credits: 20 });

function callsOf(calls: readonly { id: string; params: string | undefined }[]): RpcCalls {
  return new RpcCalls(
    placeCalls(calls),
    calls.map((_, index) => methodOf(`method${index}`)),
  );
}

const listOf = (calls: RpcCalls) =>
  Array.from({ length: calls.length }, (_, index) => ({
    id: calls.id(index),
    params: calls.params(index),
    hasParams: calls.hasParams(index),
    method: calls.method(index).name,
  }));

describe('calls in an array', () => {
  it('have the ids and params as sent, and distinguish absent from empty ones', () => {
    fc.assert(
      fc.property(sent, (calls) => {
        expect(listOf(callsOf(calls))).toEqual(
          calls.map(({ id, params }, index) => ({
            ...{ id, params },
            hasParams: params !== undefined,
            method: `method${index}`,
          })),
        );
      }),
    );
  });

  it('have the size of their ids and params', () => {
    fc.assert(
      fc.property(sent, (calls) => {
        const bytes = Buffer.byteLength(calls.map(({ id, params = '' }) => id + params).join(''));
        expect(callsOf(calls).sizeBytes()).toBe(bytes);
      }),
    );
  });

  it('are the same in any selection and order', () => {
    fc.assert(
      fc.property(sent, fc.array(fc.nat(19), { maxLength: 30 }), (calls, wanted) => {
        const indices = wanted.map((index) => index % calls.length);
        const all = listOf(callsOf(calls));
        expect(listOf(callsOf(calls).only(indices))).toEqual(indices.map((index) => all[index]));
      }),
    );
  });

  it.each([
    ['["0x1",true]', 'true]', true],
    ['["0x1",true]', '["0x1",true]', true],
    ['["0x1",false]', 'true]', false],
    ['[]', 'true]', false],
    [undefined, ']', false],
  ])('with the params %s end with %s: %s', (params, end, isSo) => {
    // The id before the params ends in the same way, but is not part of them.
    const calls = callsOf([
      { id: '"true]"', params: '[]' },
      { id: '"[\\"0x1\\",true]"', params },
    ]);
    expect(calls.paramsEndWith(1, jsonBytes(end))).toBe(isSo);
  });

  it('of our own cost nothing', () => {
    const own = ownCall('eth_getBlockByNumber', ['latest', false]);
    expect(listOf(own)).toEqual([
      { id: '0', params: '["latest",false]', hasParams: true, method: 'eth_getBlockByNumber' },
    ]);
    expect(own.method(0)).toEqual({ name: 'eth_getBlockByNumber', isWrite: false, credits: 0 });
  });
});

describe('a batch', () => {
  const of = (...names: string[]) =>
    new RpcCalls(placeCalls(names.map(() => ({ id: '1', params: undefined }))), names.map(methodOf));

  it.each([
    [['eth_chainId'], false, false],
    [['eth_chainId', 'eth_blockNumber', 'eth_chainId'], false, false],
    [['eth_call'], false, true],
    [['eth_chainId', 'eth_chainId', 'eth_call'], false, true],
    [['eth_chainId', 'eth_getLogs'], true, true],
    [['eth_getLogs', 'eth_chainId', 'eth_chainId'], true, true],
    [['debug_traceCall', 'eth_call'], true, true],
  ])('of %j is heavy: %s, and its client chooses its duration: %s', (names, isHeavy, isChosen) => {
    expect([hasHeavyCall(of(...names)), anyCostIsChosen(of(...names))]).toEqual([isHeavy, isChosen]);
  });
});

/** Outcomes of node answers: equal whether the answer is read whole or in chunks. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonBytes } from '../../../domain/json/jsonBytes.ts';
import { JsonProblem } from '../../../domain/json/jsonLimits.ts';
import { NodeAnswers } from '../../../providers/rpc/nodeAnswers.ts';
import { questionOf, readOutcomes } from '../../../providers/rpc/questions.ts';
import { read, together, told } from './openUpstreams.ts';

const RUNS = process.env.FAREBOX_TEST_LONG ? 200_000 : 5_000;
const FIRST_ID = 998;
const SECRETS = ['hidden-key'];

/** `pieceBytes`: reads the answer in chunks of this size. */
function outcomes(count: number, text: string, pieceBytes?: number): unknown {
  const calls = together(Array.from({ length: count }, () => read()));
  const bytes = Buffer.from(text);
  try {
    const answers = pieceBytes === undefined ? undefined : new NodeAnswers(0);
    for (let at = 0; answers && at < bytes.length; at += pieceBytes ?? 1)
      answers.write(new JsonBytes(bytes.subarray(at, at + (pieceBytes ?? 1))));
    answers?.finish();
    return readOutcomes({ calls, firstId: FIRST_ID, secrets: SECRETS }, bytes, answers).map(told);
  } catch (error) {
    if (error instanceof JsonProblem) return 'not JSON';
    throw error;
  }
}

const id = fc.constantFrom('998', '999', '1000', '1001', '"998"', 'null', '99', '9980000000000', '998.0', '-998');
const value = fc.constantFrom('1', 'null', '"é"', '[{"a":[null]}]', '"hidden-key"', 'nul', '01');
const error = fc.constantFrom(
  ...['null', '"no"', '{"code":3,"message":"hidden-key"}', '{"code":429,"message":""}', '{"code":"3"}'],
);
const member = fc.oneof(
  fc.constant('"jsonrpc":"2.0"'),
  fc.constantFrom('"jsonrpc":"1.0"', '"idx":1', '"extra":{"id":998}', '"i\\u0064":998'),
  id.map((text) => `"id":${text}`),
  value.map((text) => `"result":${text}`),
  error.map((text) => `"error":${text}`),
);
const right = fc.tuple(id, value).map(([own, text]) => `{"jsonrpc":"2.0","id":${own},"result":${text}}`);
const item = fc.oneof(
  { weight: 3, arbitrary: right },
  fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(',')}}`),
  fc.constantFrom('null', '1', '[]'),
);
const answer = fc.oneof(
  fc.array(item, { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
  item,
);

describe('an answer', () => {
  it('has the same outcomes with surrounding white space and when it is read in chunks', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        answer,
        fc.integer({ min: 1, max: 20 }),
        (count, text, pieceBytes) => {
          const whole = outcomes(count, text);
          expect(outcomes(count, ` ${text}\n`), text).toEqual(whole);
          expect(outcomes(count, text, pieceBytes), text).toEqual(whole);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

describe('a node request', () => {
  it('equals JSON.stringify of the same calls', () => {
    const params = fc.option(fc.array(fc.json().map((text) => JSON.parse(text))), { nil: undefined });
    const method = fc.constantFrom('eth_call', 'eth_getBalance');
    fc.assert(
      fc.property(fc.array(fc.tuple(method, params), { minLength: 1 }), fc.nat(999_999_900), (calls, firstId) => {
        const asked = together(calls.map(([name, list]) => read(name, list && JSON.stringify(list))));
        const items = calls.map(([name, list = []], index) => {
          return { jsonrpc: '2.0', id: firstId + index, method: name, params: list };
        });
        const expected = JSON.stringify(items.length === 1 ? items[0] : items);
        expect(questionOf(asked, firstId).toString()).toBe(expected);
      }),
    );
  });
});

/** POST /embeddings with the local model: limits of a request, and no delay of other requests. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longestTurn, MAX_TURN_MS } from '../../harness/stall.ts';
import { sendFromOutside } from '../body/sendFromOutside.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

let world: TextWorld;
beforeAll(async () => {
  world = await startTextWorld();
});
afterAll(() => world.close());

const MODEL = 'local-lexical-embedding';

const embed = (body: object, headers: Record<string, string> = {}) =>
  world.api.call('/embeddings', {
    method: 'POST',
    key: world.key,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: MODEL, ...body }),
  });

interface Vectors {
  data: { index: number; embedding: number[] | string }[];
}

describe('a request beyond the maximum of numbers, refused before any hold', () => {
  it.each([
    ['65,536 dimensions', { input: 'a', dimensions: 65_536 }, 'dimensions', 'At most 2,048 for this model'],
    ['2,049 dimensions', { input: 'a', dimensions: 2_049 }, 'dimensions', 'At most 2,048 for this model'],
    [
      '2,048 inputs of 65,536 dimensions',
      { input: Array(2_048).fill('a'), dimensions: 65_536 },
      'dimensions',
      'At most 2,048 for this model',
    ],
    [
      '2,048 inputs of 513 dimensions',
      { input: Array(2_048).fill('a'), dimensions: 513 },
      'input',
      'At most 1,048,576 numbers in one answer, not 1,050,624',
    ],
  ])('%s', async (_name, body, field, message) => {
    const response = await embed(body);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: 'Invalid request parameters', details: { [field]: { _errors: [message] } } },
    ]);
    const { sql } = world.api.opened.dependencies.core;
    const { rows } = await sql.query('select * from holds where account_id = $1', [world.accountId]);
    expect(rows).toEqual([]);
  });
});

it.each(['gzip', 'br', 'identity'])('sends 2,048 vectors complete and in order as %s', async (encoding) => {
  const input = Array.from({ length: 2_048 }, (_, index) => `text ${index}`);
  const response = await embed({ input }, { 'accept-encoding': encoding });
  expect(response.headers.get('content-encoding')).toBe(encoding === 'identity' ? null : encoding);
  const { data } = (await response.json()) as Vectors;
  expect(data.map(({ index }) => index)).toEqual(input.map((_, index) => index));
  for (const index of [0, 1, 1_000, 2_047]) {
    const alone = (await (await embed({ input: input[index] })).json()) as Vectors;
    expect(data[index]?.embedding).toEqual(alone.data[0]?.embedding);
  }
});

it('sends the largest vectors equally as numbers and as base64', async () => {
  const order = { input: ['one two', 'three'], dimensions: 2_048 };
  const numbers = (await (await embed(order)).json()) as Vectors;
  const texts = (await (await embed({ ...order, encoding_format: 'base64' })).json()) as Vectors;
  for (const [index, { embedding }] of texts.data.entries()) {
    const bytes = Buffer.from(String(embedding), 'base64');
    const floats = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
    expect(floats).toEqual(numbers.data[index]?.embedding);
  }
});

it.each<[string, string[]]>([
  ['58 texts of 27,500 letters', Array(58).fill('ab cd'.repeat(5_500))],
  ['58 texts of one word', Array(58).fill('x'.repeat(27_500))],
  ['2,048 texts of one letter', Array(2_048).fill('a')],
])('%s do not block other requests', async (_name, input) => {
  const body = Buffer.from(JSON.stringify({ model: MODEL, input }));
  const send = async () => {
    const statuses = await sendFromOutside({
      ...{ url: `${world.api.baseUrl}/embeddings`, type: 'application/json', body },
      headers: { authorization: `Bearer ${world.key}` },
    });
    expect(statuses).toEqual([200]);
  };
  expect(await longestTurn(send, MAX_TURN_MS)).toBeLessThan(MAX_TURN_MS);
});

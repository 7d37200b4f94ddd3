/** Costs of a response, also when the client leaves, lacks funds or only wants the price. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ResponsesWorld, startResponsesWorld } from './responsesWorld.ts';

const FRAMES = 24;
let world: ResponsesWorld;

beforeAll(async () => {
  // A long timeout, because a busy machine must not look like a silent service.
  world = await startResponsesWorld(20_000);
});
afterAll(() => world.close());

/** Reads this number of words of a stream, disconnects, and returns the request id. */
async function cutAfter(words: number): Promise<string> {
  const away = new AbortController();
  const response = await world.respond({ model: 'gpt-plain', stream: true }, { signal: away.signal });
  expect(response.status).toBe(200);
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if ((text.match(/output_text\.delta\n/g) ?? []).length >= words) break;
    }
  } finally {
    away.abort();
  }
  return /"id":"resp_(chatcmpl-[0-9a-f]+)"/.exec(text)?.[1] ?? '';
}

it(`bills between the received and the sent tokens when it is cut at each of ${FRAMES} words`, async () => {
  world.stub.otherwise = { tokens: Array.from({ length: FRAMES }, (_, index) => ` w${index}`), pauseMs: 4 };
  const ids: string[] = [];
  for (let words = 0; words < FRAMES; words += 1) ids.push(await cutAfter(words));
  await world.settled();
  world.stub.otherwise = {};
  const wrong: unknown[] = [];
  for (const [index, id] of ids.entries()) {
    const entry = await world.entryOf(id);
    const billed = entry?.completionTokens ?? 0;
    const sent = world.stub.received[index]?.sentTokens ?? 0;
    // A word of the stub is up to two tokens in the local count.
    if (billed < index || billed > 2 * sent + 2) wrong.push({ index, billed, sent });
  }
  expect(wrong).toEqual([]);
});

it.each([false, true])('costs what the same chat costs, to the last nano (stream: %s)', async (stream) => {
  const spent = async () => {
    await world.settled();
    const { rows } = await world.api.opened.dependencies.core.sql.query(
      `select sku, amount_nano, prompt_tokens, completion_tokens, notes from usage_entries
        where account_id = $1 order by id desc limit 1`,
      [world.accountId],
    );
    return rows[0];
  };
  await (await world.chat({ stream })).text();
  const chat = await spent();
  await (await world.respond({ stream })).text();
  expect(await spent()).toEqual(chat);
});

it.each([false, true])(
  'is refused before any upstream call when the balance is too small (stream: %s)',
  async (stream) => {
    const { secret } = await world.api.newKey('INFERENCE');
    const before = world.stub.received.length;
    const response = await world.respond({ stream }, { key: secret });
    expect([response.status, Object.keys(JSON.parse(await response.text()))]).toEqual([402, ['error']]);
    expect(world.stub.received).toHaveLength(before);
  },
);

it('returns its bound without a call in a dry run', async () => {
  const before = world.stub.received.length;
  const headers = { 'x-service-dry-run': 'true' };
  const chat = await (await world.chat({ max_completion_tokens: 100 }, { headers })).json();
  const response = await world.respond({ max_output_tokens: 100 }, { headers });
  expect(await response.json()).toEqual(chat);
  expect(chat).toMatchObject({ object: 'dry_run', bounds: [{ model: 'gpt-stub', completion_tokens: 100 }] });
  expect(world.stub.received).toHaveLength(before);
});

it('may come from a fallback, which alone is billed and named', async () => {
  world.stub.next.push({ status: 500, body: {} });
  const response = await world.respond({ fallbacks: [{ model: 'gpt-second' }] });
  const { id, model } = (await response.json()) as { id: string; model: string };
  expect([response.status, model]).toEqual([200, 'gpt-second']);
  expect(response.headers.get('x-service-model-id')).toBe('gpt-second');
  expect(Number(response.headers.get('x-service-overhead-ms'))).toBeGreaterThan(0);
  await world.settled();
  const entry = await world.entryOf(id.replace('resp_', ''));
  expect(entry?.completionTokens).toBe(world.second.received.at(-1)?.sentTokens);
});

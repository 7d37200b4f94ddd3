/** What a response costs, whoever goes away, cannot pay, or only wants to know. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ResponsesWorld, startResponsesWorld } from './responsesWorld.ts';

const FRAMES = 24;
let world: ResponsesWorld;

beforeAll(async () => {
  // A machine that is busy with other tests is no service that is silent.
  world = await startResponsesWorld(20_000);
});
afterAll(() => world.close());

/** Reads so many words of a stream, and leaves. Answers the id that the ledger knows. */
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

it(`cut at each of ${FRAMES} words, the bill is between what the client has and what the upstream sent`, async () => {
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
    // A word of the stub is up to two tokens of our count.
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
  'is refused before anything is called where the balance is too small (stream: %s)',
  async (stream) => {
    const { secret } = await world.api.newKey('INFERENCE');
    const before = world.stub.received.length;
    const response = await world.respond({ stream }, { key: secret });
    expect([response.status, Object.keys(JSON.parse(await response.text()))]).toEqual([402, ['error']]);
    expect(world.stub.received).toHaveLength(before);
  },
);

it('is bound, not called, in a dry run', async () => {
  const before = world.stub.received.length;
  const headers = { 'x-service-dry-run': 'true' };
  const chat = await (await world.chat({ max_completion_tokens: 100 }, { headers })).json();
  const response = await world.respond({ max_output_tokens: 100 }, { headers });
  expect(await response.json()).toEqual(chat);
  expect(chat).toMatchObject({ object: 'dry_run', bounds: [{ model: 'gpt-stub', completion_tokens: 100 }] });
  expect(world.stub.received).toHaveLength(before);
});

it('is answered by a fallback, which is billed alone, and the answer says which and how fast', async () => {
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

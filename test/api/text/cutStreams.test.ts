/** A client that goes away in the middle of a stream pays for what was produced: no more, and no less. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dataUrl, png } from './pictures.ts';
import { startTextWorld, type TextWorld } from './textWorld.ts';

const FRAMES = 64;
let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld();
  world.stub.otherwise = { tokens: Array.from({ length: FRAMES }, (_, index) => ` w${index}`), pauseMs: 4 };
});

afterAll(() => world.close());

/** Reads so many frames of a stream, and goes away. Answers the id that the ledger knows. */
async function cutAfter(frames: number, asked: object = {}): Promise<string> {
  const away = new AbortController();
  const response = await world.chat({ stream: true, ...asked }, { signal: away.signal });
  expect(response.status).toBe(200);
  let text = '';
  try {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if ((text.match(/"content"/g) ?? []).length >= frames) break;
    }
  } finally {
    away.abort();
  }
  return /"id":"(chatcmpl-[0-9a-f]+)"/.exec(text)?.[1] ?? '';
}

it(`cut at each of ${FRAMES} frames, the bill is what the upstream counts that it sent`, async () => {
  const calls: { id: string; frame: number }[] = [];
  for (let from = 1; from <= FRAMES; from += 16) {
    const batch = Array.from({ length: 16 }, (_, index) => from + index);
    // One after the other at the upstream's door, so that the order of its calls is that of ours.
    for (const frame of batch) calls.push({ id: await cutAfter(frame), frame });
  }
  await world.settled();
  const { received } = world.stub;
  expect(received).toHaveLength(FRAMES);
  const wrong: unknown[] = [];
  for (const [index, { id, frame }] of calls.entries()) {
    const entry = await world.entryOf(id);
    const sent = received[index]?.sentTokens;
    if (entry?.completionTokens !== sent) wrong.push({ frame, billed: entry?.completionTokens, sent });
  }
  expect(wrong).toEqual([]);
});

it('whoever leaves before the first word pays only what came all the same', async () => {
  world.stub.next.push({ delayMs: 300, tokens: [' late'] });
  const away = new AbortController();
  const asked = world.chat({ stream: true }, { signal: away.signal });
  setTimeout(() => away.abort(), 100);
  await expect(asked).rejects.toThrow();
  await world.settled();
  const call = world.stub.received.at(-1);
  const { rows } = await world.api.opened.dependencies.sql.query(
    'select completion_tokens from usage_entries where account_id = $1 order by id desc limit 1',
    [world.accountId],
  );
  expect(Number(rows[0].completion_tokens)).toBe(call?.sentTokens);
});

it('whoever sent a picture and leaves before the last word pays for the picture', async () => {
  const picture = { type: 'image_url', image_url: { url: dataUrl(png(64, 64)) } };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, picture] }];
  // So silent that nobody waits for the usage.
  world.stub.next.push({ tokens: [' a', ' b', ' c'], pauseMs: 50, hang: 3 });
  const id = await cutAfter(2, { messages });
  await world.settled();
  const entry = await world.entryOf(id);
  expect(entry?.promptTokens).toBeGreaterThan(2_000);
  expect(entry?.notes).toContain('counted here');
});

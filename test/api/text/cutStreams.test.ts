/** A client that disconnects mid-stream pays for the produced tokens, no more and no less. */
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

interface Cut {
  /** Request id in the ledger. */
  id: string;
  /** Words that the client received. */
  received: number;
}

/** Reads this number of frames of a stream and disconnects. */
async function cutAfter(frames: number, asked: object = {}): Promise<Cut> {
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
  const received = (text.match(/"content":"[^"]/g) ?? []).length;
  return { id: /"id":"(chatcmpl-[0-9a-f]+)"/.exec(text)?.[1] ?? '', received };
}

it(`bills between the received and the sent tokens when it is cut at each of ${FRAMES} frames`, async () => {
  const cuts: Cut[] = [];
  // One after the other, so that the upstream calls have the same order.
  for (let frame = 1; frame <= FRAMES; frame += 1) cuts.push(await cutAfter(frame, { model: 'gpt-plain' }));
  await world.settled();
  const { received } = world.stub;
  expect(received).toHaveLength(FRAMES);
  const wrong: unknown[] = [];
  for (const [index, cut] of cuts.entries()) {
    const billed = (await world.entryOf(cut.id))?.completionTokens ?? 0;
    const sent = received[index]?.sentTokens ?? 0;
    // A word of the stub is up to two tokens in the local count.
    if (billed < cut.received || billed > 2 * sent + 2) wrong.push({ ...cut, billed, sent });
  }
  expect(wrong).toEqual([]);
});

it('bills a picture in the prompt when the client leaves before the last word', async () => {
  const picture = { type: 'image_url', image_url: { url: dataUrl(png(64, 64)) } };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, picture] }];
  // The upstream hangs, so its usage never arrives.
  world.stub.next.push({ tokens: [' a', ' b', ' c'], pauseMs: 50, hang: 3 });
  const { id } = await cutAfter(2, { messages });
  await world.settled();
  const entry = await world.entryOf(id);
  expect(entry?.promptTokens).toBeGreaterThan(2_000);
  expect(entry?.notes).toContain('counted here');
});

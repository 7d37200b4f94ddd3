/**
 * A text service that costs next to nothing: it answers every completion with the same bytes, and a stream with frames at
 * an even pace, each of which says when it was sent.
 */
import type { ServerResponse } from 'node:http';
import { FRAME_MS, FRAMES } from './chatFrames.ts';
import { serveBare } from './serve.ts';

const HEAD = { id: 'chatcmpl-bench', object: 'chat.completion', created: 1_767_225_600, model: 'bench' };
const USAGE = { usage: { prompt_tokens: 20, completion_tokens: FRAMES, total_tokens: 20 + FRAMES } };
const WHOLE = JSON.stringify({
  ...HEAD,
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'word '.repeat(FRAMES) } }],
  ...USAGE,
});
const CHUNK = { ...HEAD, object: 'chat.completion.chunk' };

function frame(choices: object[], extra: object = {}): string {
  return `data: ${JSON.stringify({ ...CHUNK, choices, ...extra })}\n\n`;
}

const END = `${frame([{ index: 0, delta: {}, finish_reason: 'stop' }])}${frame([], USAGE)}data: [DONE]\n\n`;
/** A quarter of the streams each: nobody's streams have their frames in the same instant. */
const groups = Array.from({ length: 4 }, () => new Map<ServerResponse, number>());
let turn = 0;

/** One timer for all: hundreds of them would not keep the pace. */
function tick(): void {
  turn = (turn + 1) % groups.length;
  const streams = groups[turn] as (typeof groups)[number];
  const content = `${process.hrtime.bigint() / 1_000n} `;
  const word = frame([{ index: 0, delta: { content }, finish_reason: null }]);
  for (const [response, sent] of streams) {
    if (sent < FRAMES) {
      streams.set(response, sent + 1);
      response.write(word);
      continue;
    }
    streams.delete(response);
    response.end(END);
  }
}

setInterval(tick, FRAME_MS / groups.length);
serveBare((text, response) => {
  if (!text.includes('"stream":true')) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': WHOLE.length }).end(WHOLE);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  response.socket?.setNoDelay(true);
  const streams = groups.reduce((least, each) => (each.size < least.size ? each : least));
  streams.set(response, 0);
  response.once('close', () => streams.delete(response));
});

/**
 * Simulated text service at minimal cost: the same bytes for every completion, and streams of evenly spaced frames that
 * contain their send time.
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
/** Each group has a quarter of the streams, so that not all streams get a frame at the same instant. */
const groups = Array.from({ length: 4 }, () => new Map<ServerResponse, number>());
let turn = 0;

/** One timer for all streams: hundreds of timers would drift. */
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

/**
 * Reads and discards the rest of a body for a moment after an early answer. Closing at once would reset the connection,
 * and many clients would report a broken upload and not the answer.
 */
import type { IncomingMessage } from 'node:http';
import type { TurnGuard } from './turnGuard.ts';

const MAX_MS = 10_000;
const MAX_BYTES = 64 * 1_048_576;

export function drainRequestBody(request: IncomingMessage, turnGuard: TurnGuard): void {
  if (request.complete || request.destroyed) return;
  let bytes = 0;
  const giveUp = () => request.socket.destroy();
  const timer = setTimeout(giveUp, MAX_MS).unref();
  request.once('close', () => clearTimeout(timer));
  request.once('end', () => clearTimeout(timer));
  request.on('error', () => undefined);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) giveUp();
    else turnGuard.noteFlowingChunk(request);
  });
  request.resume();
}

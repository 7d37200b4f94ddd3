/**
 * Gives back the memory of a body's piece at once. A collection would do it too: but what lies outside the heap counts as if it
 * were in it, so that of twenty uploads every 25 MB cost a full one, with pauses for everybody.
 */
import { MessageChannel } from 'node:worker_threads';

/** Smaller ones are not worth it, and may share their memory with others. */
const LEAST_BYTES = 16 * 1024;

/** What is handed over to a closed port is gone; Node 20 has no other way to let go of a buffer (`transfer` comes with 22). */
const { port1: nowhere, port2: otherEnd } = new MessageChannel();
nowhere.close();
otherEnd.close();

/** The chunk is empty from then on: for whoever has copied what is needed of it. */
export function freeChunk(chunk: Buffer): void {
  const { buffer } = chunk;
  const isItsOwn = chunk.length >= LEAST_BYTES && buffer.byteLength === chunk.length;
  if (isItsOwn && buffer instanceof ArrayBuffer) nowhere.postMessage(undefined, [buffer]);
}

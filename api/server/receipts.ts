/**
 * Detects whether a client has received all of an answer. "Sent" only means that the bytes are in the buffers of this
 * machine, which may hold a whole recording while the client has read half of it and left. The kernel reports that too
 * late for an answer, but in time to keep media that the client did not get.
 */
import type { Socket } from 'node:net';

/** Silence after which the bytes count as received. */
const MIN_SILENCE_MS = 2_000;
const MAX_SILENCE_MS = 30_000;
/** Rate that is assumed for slow clients. */
const SLOW_BYTES_PER_SECOND = 100_000;

export interface Receipts {
  /** Called for every request: a client that sends the next one has read the last answer. */
  noteRequest(socket: Socket): void;
  /**
   * Resolves to true when the client received the answer: it sends the next request, closes in good order, or stays
   * connected without an error for long enough. False when the connection breaks before that.
   */
  waitForReceipt(socket: Socket, sizeBytes: number): Promise<boolean>;
}

export function createReceipts(): Receipts {
  const retryLater = new WeakMap<Socket, () => void>();
  return {
    noteRequest: (socket) => retryLater.get(socket)?.(),
    waitForReceipt(socket, sizeBytes) {
      if (socket.destroyed) return Promise.resolve(!socket.errored);
      const silenceMs = Math.min(MAX_SILENCE_MS, MIN_SILENCE_MS + (sizeBytes / SLOW_BYTES_PER_SECOND) * 1_000);
      return new Promise((resolve) => {
        const conclude = (whole: boolean) => {
          clearTimeout(timer);
          retryLater.delete(socket);
          socket.off('close', onClose);
          resolve(whole);
        };
        const onClose = (broken: boolean) => conclude(!broken);
        const timer = setTimeout(() => conclude(true), silenceMs);
        retryLater.set(socket, () => conclude(true));
        socket.once('close', onClose);
      });
    },
  };
}

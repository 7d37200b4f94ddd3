/**
 * Whether a client has all of an answer. "Sent" only means that the bytes are in this machine's buffers, which may hold the
 * whole recording while the client has read half of it and gone. The kernel tells too late for an answer, but in time for
 * what must not happen to a client that was cut off: deleting what it did not get.
 */
import type { Socket } from 'node:net';

/** Proof by silence: after this long without a complaint the bytes count as received. */
const MIN_SILENCE_MS = 2_000;
const MAX_SILENCE_MS = 30_000;
/** A slower client needs no more than this is assumed to. */
const SLOW_BYTES_PER_SECOND = 100_000;

export interface Receipts {
  /** Call for every request: a client that goes on with the next one has read the last answer. */
  noteRequest(socket: Socket): void;
  /**
   * Resolves to true when the client took the answer that was just sent whole: it asks the next question, closes in good
   * order, or stays without complaint for long enough. False when the connection breaks before that.
   */
  waitForReceipt(socket: Socket, sizeBytes: number): Promise<boolean>;
}

export function createReceipts(): Receipts {
  const retryLater = new WeakMap<Socket, () => void>();
  return {
    noteRequest: (socket) => retryLater.get(socket)?.(),
    waitForReceipt(socket, sizeBytes) {
      if (socket.destroyed) return Promise.resolve(!socket.errored);
      const silenceMs = Math.min(
        MAX_SILENCE_MS,
        MIN_SILENCE_MS + (sizeBytes / SLOW_BYTES_PER_SECOND) * 1_000,
      );
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

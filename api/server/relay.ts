/** Relays the bytes of an object to a client, as fast as the slower of the two. */
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { failpoint, isFailpointArmed } from '../../infra/failpoints.ts';
import { returnPiece } from '../../infra/http/largeReads.ts';

/**
 * Bytes that may wait for the client while more is read. With the stream's own 16 kB each piece is read only when the
 * one before was sent, and neither side is busy while the other is. Bench `delivery`.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Resolves when there are bytes, or none will come; rejects when the source breaks, or is closed, before that. */
export function waitForFirstBytes(source: Readable): Promise<void> {
  // A source that breaks just before it is relayed must not end the process; the relay notices it.
  source.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      source.off('readable', onReadable).off('error', settle).off('close', onClose);
      if (error) reject(error);
      else resolve();
    };
    const onReadable = () => settle();
    const onClose = () => settle(new Error('the source was left'));
    source.once('readable', onReadable).once('error', settle).once('close', onClose);
  });
}

/**
 * Resolves when the last byte was sent. Rejects, with both sides closed, when more or fewer bytes come than were
 * announced.
 */
export function relay(source: Readable, res: ServerResponse, sizeBytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let [sent, gathering, held] = [0, false, isFailpointArmed('delivery-half')];
    /** Sent when the next piece is there, or none comes: too long a body must not look complete first. */
    let last: Buffer | undefined;
    /** Pieces read in one turn of the event loop are sent in one call. */
    const release = () => {
      if (gathering) res.uncork();
      gathering = false;
    };
    const fail = (error: Error) => {
      source.destroy();
      // The client sees a cut answer, not a missing one.
      release();
      res.destroy();
      reject(error);
    };
    const goOn = (error: Error | null | undefined, sentPiece: Buffer) => {
      if (!error) returnPiece(sentPiece);
      if (!error && source.isPaused() && res.writableLength < MAX_WAITING_BYTES / 2) source.resume();
    };
    const conclude = () => {
      if (last) res.write(last);
      release();
      res.end(resolve);
    };
    // Events from before this call are not emitted again.
    if (source.destroyed || res.destroyed) return fail(source.errored ?? new Error('the client is gone'));
    source.once('error', fail);
    source.once('close', () => source.readableEnded || fail(new Error('the source was left')));
    source.once('end', () => {
      if (sent !== sizeBytes) return fail(new Error(`${sent} bytes instead of the announced ${sizeBytes}`));
      // A single piece counts as the half.
      if (held) void Promise.resolve(failpoint('delivery-half')).then(conclude, fail);
      else conclude();
    });
    res.once('error', fail);
    res.once('close', () => res.writableFinished || fail(new Error('the client is gone')));
    source.on('data', (bytes: Buffer) => {
      // A closed connection accepts everything until it reports its end.
      if (res.socket?.destroyed !== false) return fail(new Error('the client is gone'));
      sent += bytes.length;
      if (sent > sizeBytes) return fail(new Error(`more than the announced ${sizeBytes} bytes`));
      const piece = last;
      last = bytes;
      if (!piece) return;
      if (!gathering) {
        gathering = true;
        res.cork();
        setImmediate(release);
      }
      res.write(piece, (error) => goOn(error, piece));
      if (held && sent * 2 >= sizeBytes) {
        held = false;
        source.pause();
        void Promise.resolve(failpoint('delivery-half')).then(() => source.resume(), fail);
      } else if (res.writableLength > MAX_WAITING_BYTES) source.pause();
    });
  });
}

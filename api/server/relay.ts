/** Passes the bytes of a store on to a client, as fast as the slower of the two. */
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { failpoint, isFailpointArmed } from '../../infra/failpoints.ts';
import { returnPiece } from '../../infra/http/largeReads.ts';

/**
 * So much may wait for the client while more is read. With a stream's own 16 kB each piece is read only when the one before
 * has gone out, and neither side is ever busy while the other is. Bench `delivery`.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

/** Resolves when there are bytes, or none will come; rejects when the source breaks, or is left, before that. */
export function waitForFirstBytes(source: Readable): Promise<void> {
  // One that breaks just before it is relayed must not end the process; the relay sees what became of it.
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

/** Resolves when the last byte went out. Rejects, with both sides closed, when more or fewer come than were announced. */
export function relay(source: Readable, res: ServerResponse, sizeBytes: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let [sent, gathering, held] = [0, false, isFailpointArmed('delivery-half')];
    /** Goes out when the next one is there, or none comes: what is too long must not look whole first. */
    let last: Buffer | undefined;
    /** What one turn of the event loop read goes out in one call. */
    const release = () => {
      if (gathering) res.uncork();
      gathering = false;
    };
    const fail = (error: Error) => {
      source.destroy();
      // What has begun is seen to be cut, not to have never come.
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
    // What happened before this call is told no more.
    if (source.destroyed || res.destroyed) return fail(source.errored ?? new Error('the client is gone'));
    source.once('error', fail);
    source.once('close', () => source.readableEnded || fail(new Error('the source was left')));
    source.once('end', () => {
      if (sent !== sizeBytes) return fail(new Error(`${sent} bytes instead of the announced ${sizeBytes}`));
      // One piece is the half as well.
      if (held) void Promise.resolve(failpoint('delivery-half')).then(conclude, fail);
      else conclude();
    });
    res.once('error', fail);
    res.once('close', () => res.writableFinished || fail(new Error('the client is gone')));
    source.on('data', (bytes: Buffer) => {
      // A connection that is gone takes everything, at once, until it says so.
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

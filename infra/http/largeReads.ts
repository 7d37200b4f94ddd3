/**
 * Connections for large bodies: each read takes what has come, up to a megabyte, where Node's own take 64 kB into memory
 * of their own. Who passes a body on gives each piece back when it has gone out, so that a gigabyte passes through a few
 * megabytes: memory outside the heap is what makes V8 collect all of it, once per 64 MB. Bench `delivery`.
 */
import { connect, type Socket } from 'node:net';
import { buildConnector } from 'undici';

const SLAB_BYTES = 1024 * 1024;
/** A new slab begins when less than this is left. */
const MIN_BYTES = 128 * 1024;
const MAX_SPARE = 16;

interface Slab {
  bytes: Buffer;
  /** Read into it, and given back of that; heads of answers never are, so that their slabs are used once. */
  used: number;
  returned: number;
  /** No more is read into it. */
  full: boolean;
}

const spare: Buffer[] = [];
const slabs = new WeakMap<ArrayBufferLike, Slab>();

/**
 * To be called once for a piece that nobody reads any more: its bytes may be others from now on. Pieces that are never given
 * back are collected as any other memory.
 */
export function returnPiece(piece: Uint8Array): void {
  const slab = slabs.get(piece.buffer);
  if (!slab) return;
  slab.returned += piece.length;
  if (slab.full && slab.returned === slab.used) spareIt(slab);
}

function spareIt(slab: Slab): void {
  slabs.delete(slab.bytes.buffer);
  if (spare.length < MAX_SPARE) spare.push(slab.bytes);
}

function takeSlab(): Slab {
  const slab = {
    bytes: spare.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES),
    used: 0,
    returned: 0,
    full: false,
  };
  slabs.set(slab.bytes.buffer, slab);
  return slab;
}

/** Only without encryption: the TLS layer reads encrypted bytes itself. */
export function connectForLargeReads(timeoutMs: number): buildConnector.connector {
  const usual = buildConnector({ timeout: timeoutMs });
  return (options, callback) => {
    if (options.protocol !== 'http:') return usual(options, callback);
    const socket = openSocket(options.hostname, Number(options.port || 80));
    const late = new Error(`no connection after ${timeoutMs} ms`);
    const expiry = setTimeout(() => socket.destroy(late), timeoutMs);
    const failed = (error: Error) => {
      clearTimeout(expiry);
      callback(error, null);
    };
    socket.once('error', failed);
    socket.once('connect', () => {
      clearTimeout(expiry);
      socket.off('error', failed);
      callback(null, socket);
    });
  };
}

function openSocket(host: string, port: number): Socket {
  let slab: Slab | undefined;
  const room = () => {
    if (slab && slab.returned === slab.used) slab.used = slab.returned = 0;
    if (slab && SLAB_BYTES - slab.used < MIN_BYTES) {
      slab.full = true;
      slab = undefined;
    }
    slab ??= takeSlab();
    return slab.bytes.subarray(slab.used);
  };
  const socket: Socket = connect({
    ...{ host, port, noDelay: true, keepAlive: true },
    onread: {
      buffer: room,
      callback: (count, piece): boolean => {
        if (slab) slab.used += count;
        return socket.push(piece.subarray(0, count));
      },
    },
  });
  return socket;
}

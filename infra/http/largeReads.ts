/**
 * Connections for large bodies: each read takes the available bytes, up to a megabyte; Node's own reads take 64 kB into
 * new memory. The consumer returns each piece when it is sent, so a gigabyte passes through a few megabytes. Otherwise
 * V8 runs a full collection for every 64 MB outside the heap. Bench `delivery`.
 */
import { connect, type Socket } from 'node:net';
import { buildConnector } from 'undici';

const SLAB_BYTES = 1024 * 1024;
/** A new slab begins when less than this is left. */
const MIN_BYTES = 128 * 1024;
const MAX_SPARE = 16;

interface Slab {
  bytes: Buffer;
  /** Bytes read into it, and bytes returned. Heads of answers are never returned: their slabs are used once. */
  used: number;
  returned: number;
  /** Nothing more is read into it. */
  full: boolean;
}

const spare: Buffer[] = [];
const slabs = new WeakMap<ArrayBufferLike, Slab>();

/**
 * Called once for a piece that nobody reads any more: its memory is reused. Pieces that are never returned are
 * collected like other memory.
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

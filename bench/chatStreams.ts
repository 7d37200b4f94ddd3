/**
 * Many streams at once, each frame of which says when it was sent. Read from the sockets: a client that took the frames apart
 * would need half a core for it, and its own pauses would count as the server's.
 */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FRAMES } from './floor/chatFrames.ts';
import { bytesOf, type LeanRequest } from './leanClient.ts';

export interface StreamFigures {
  /** Of each stream: from the request to its first frame. */
  firstMs: number[];
  /** Of all frames, from their sending to their arrival: the most. */
  latestMs: number;
  /** Frames that came more than 50 ms after they were sent. */
  late: number;
  /** Frames that never came. */
  lost: number;
}

const LATE_MS = 50;
/** Clients do not all begin in the same instant; they are all under way well before the first one ends. */
const SPREAD_MS = 600;
const STATUS = 'HTTP/1.1 200 ';
const CONTENT = '"content":"';
const MICROSECONDS = /^(\d+) /;
/** The last chunk of an answer, which is empty. */
const END = '\r\n0\r\n\r\n';
/** One for all: what was read is looked at before the next read, and hundreds of buffers would be a collection each second. */
const READ = Buffer.allocUnsafe(64 * 1024);

export async function readStreams(target: LeanRequest, count: number): Promise<StreamFigures> {
  const figures: StreamFigures = { firstMs: [], latestMs: 0, late: 0, lost: 0 };
  const read = async (_: unknown, at: number) => {
    await sleep((at * SPREAD_MS) / count);
    await readStream(target, figures);
  };
  await Promise.all(Array.from({ length: count }, read));
  return figures;
}

function readStream(target: LeanRequest, figures: StreamFigures): Promise<void> {
  const { hostname, port } = new URL(target.url);
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let frames = 0;
    let rest = '';
    let ended = false;

    function take(bytes: Buffer): void {
      const now = Number(process.hrtime.bigint() / 1_000n);
      const text = rest + bytes.toString('latin1');
      if (frames === 0 && rest === '' && !text.startsWith(STATUS)) {
        socket.destroy(new Error(text.slice(0, text.indexOf('\r'))));
        return;
      }
      let from = 0;
      for (let at = text.indexOf(CONTENT); at >= 0; at = text.indexOf(CONTENT, from)) {
        const sent = MICROSECONDS.exec(text.slice(at + CONTENT.length, at + CONTENT.length + 20));
        if (!sent) break;
        from = at + CONTENT.length;
        count(now - Number(sent[1]));
      }
      ended = text.endsWith(END);
      // A frame may be cut anywhere; what was counted is not looked at again.
      rest = text.slice(Math.max(from, text.length - 64));
      if (ended) socket.destroy();
    }

    function count(microseconds: number): void {
      frames += 1;
      if (frames === 1) figures.firstMs.push(performance.now() - startedAt);
      const ms = microseconds / 1_000;
      if (ms > LATE_MS) figures.late += 1;
      figures.latestMs = Math.max(figures.latestMs, ms);
    }

    const socket = net.connect({
      ...{ host: hostname, port: Number(port), noDelay: true },
      onread: {
        buffer: READ,
        callback: (size, buffer) => {
          take((buffer as Buffer).subarray(0, size));
          return true;
        },
      },
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (!ended) return reject(new Error(`a stream was cut after ${frames} frames`));
      figures.lost += FRAMES - frames;
      resolve();
    });
    socket.write(bytesOf(target));
  });
}

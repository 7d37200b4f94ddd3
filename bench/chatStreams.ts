/**
 * Reads many streams at once whose frames contain their send time. Reads raw sockets: parsing the frames would take
 * half a core, and pauses of the client would count as pauses of the server.
 */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FRAMES } from './floor/chatFrames.ts';
import { bytesOf, type LeanRequest } from './leanClient.ts';

export interface StreamFigures {
  /** Time from the request to the first frame, per stream. */
  firstMs: number[];
  /** Longest time from sending a frame to its arrival. */
  latestMs: number;
  /** Number of frames that arrived more than 50 ms after they were sent. */
  late: number;
  /** Number of frames that never arrived. */
  lost: number;
}

const LATE_MS = 50;
/** Clients start spread over this time. All are running well before the first stream ends. */
const SPREAD_MS = 600;
const STATUS = 'HTTP/1.1 200 ';
const CONTENT = '"content":"';
const MICROSECONDS = /^(\d+) /;
/** Empty last chunk of a response. */
const END = '\r\n0\r\n\r\n';
/** One buffer for all streams: hundreds of buffers would cause a garbage collection each second. */
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

    function readChunk(bytes: Buffer): void {
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
        countFrame(now - Number(sent[1]));
      }
      ended = text.endsWith(END);
      // A frame may be split at any point. Counted text is dropped.
      rest = text.slice(Math.max(from, text.length - 64));
      if (ended) socket.destroy();
    }

    function countFrame(microseconds: number): void {
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
          readChunk((buffer as Buffer).subarray(0, size));
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

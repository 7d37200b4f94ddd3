/** Client with one connection that repeats the same request. Cheap, because it shares its core. */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile, round } from './statistics.ts';

export interface LeanRequest {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Expected status. Default: 200. */
  status?: number;
}

export interface LeanClient {
  /**
   * Sends the request, or `other` if given. Resolves with the status after the last byte of the answer, which must have
   * a Content-Length or be a 304.
   */
  send(other?: LeanRequest): Promise<number>;
  close(): void;
}

const STATUS = /^HTTP\/1\.1 (\d{3}) /;
const LENGTH = /\r\ncontent-length: (\d+)/i;
const HEAD_END = Buffer.from('\r\n\r\n');

export async function openLeanClient(request: LeanRequest): Promise<LeanClient> {
  const { hostname, port } = new URL(request.url);
  const sent = bytesOf(request);
  let head = '';
  let missing = 0;
  let status = 0;
  let done: (status: number) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;

  /** Parses the head only. Bytes of the body are just counted. */
  function readChunk(bytes: Buffer): void {
    if (missing > 0) missing -= bytes.length;
    else {
      const end = bytes.indexOf(HEAD_END);
      head += bytes.toString('latin1', 0, end < 0 ? bytes.length : end + 2);
      if (end < 0) return;
      status = Number(STATUS.exec(head)?.[1]);
      const length = status === 304 ? 0 : Number(LENGTH.exec(head)?.[1]);
      missing = length - (bytes.length - end - HEAD_END.length);
      head = '';
    }
    if (missing === 0) done(status);
    else if (!(missing > 0)) fail(new Error(`${status}: no Content-Length, or more than it says`));
  }

  const socket = net.connect({
    ...{ host: hostname, port: Number(port), noDelay: true },
    // One buffer for all answers: allocating one per answer costs more than reading into it.
    onread: {
      buffer: Buffer.allocUnsafe(128 * 1024),
      callback: (size, buffer) => {
        readChunk((buffer as Buffer).subarray(0, size));
        return true;
      },
    },
  });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', (error) => fail(error));
  socket.on('close', () => fail(new Error('the connection was closed')));
  return {
    send: (other) =>
      new Promise((resolve, reject) => {
        done = resolve;
        fail = reject;
        socket.write(other ? bytesOf(other) : sent);
      }),
    close: () => socket.destroy(),
  };
}

export function bytesOf({ method, url, headers, body }: LeanRequest): Buffer {
  const { pathname, search, host } = new URL(url);
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host, ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

/** Sends requests on all connections without a pause. Counts the expected and the other statuses. */
export async function sendWithoutPause(
  request: LeanRequest,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<{ perSecond: number; failed: number }> {
  const { status = 200 } = request;
  let answered = 0;
  let failed = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const connection = async () => {
    const client = await openLeanClient(request);
    while (performance.now() < endsAt) {
      if ((await client.send()) === status) answered += 1;
      else failed += 1;
    }
    client.close();
  };
  await Promise.all(Array.from({ length: connections }, connection));
  return { perSecond: (answered * 1_000) / (performance.now() - startedAt), failed };
}

/** Length of the warm-up turn in turns: V8 compiles hot code for half a minute, and a server runs for weeks. */
export const WARM_UP_TURNS = 4;
/** Number of connections without pauses, and with pauses. */
export const LOAD_CONNECTIONS = 32;
export const PAUSED_CONNECTIONS = 8;
const REQUESTS = 1_000;
const PAUSE_MS = 8;

/**
 * Measures the latency of a few clients that pause between requests, so that no queue forms. With pauses of 4 ms, one
 * request in four met another. Pauses are random: equal ones would make all clients send at the same instant.
 */
export async function sendWithPauses(target: LeanRequest): Promise<number[]> {
  const waits: number[] = [];
  const runClient = async () => {
    const client = await openLeanClient(target);
    for (let sent = 0; sent < REQUESTS / PAUSED_CONNECTIONS; sent += 1) {
      await sleep(PAUSE_MS * (0.5 + Math.random()));
      const startMs = performance.now();
      if ((await client.send()) !== 200) throw new Error('refused');
      waits.push(performance.now() - startMs);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: PAUSED_CONNECTIONS }, runClient));
  return waits;
}

export interface LoadFigures {
  /** Requests per second, per turn. */
  perSecond: number[];
  /** Latencies of the clients with pauses, in milliseconds. */
  waitsMs: number[];
  failed: number;
}

interface TurnOptions<Side extends string> {
  seconds: number;
  /** Measured turns, after one warm-up turn. */
  rounds: number;
  /** Length of the warm-up turn in turns. */
  warmUpTurns?: number;
  /** Pause between the loads without and with pauses. */
  settleMs?: number;
  /** Sides that clients with pauses measure too. Default: all. */
  pausedSides?: readonly Side[];
}

/** Measures the sides in turns, without and then with pauses, so that a drift of the machine affects all sides. */
export async function measureInTurns<Side extends string>(
  targets: Record<Side, LeanRequest>,
  options: TurnOptions<NoInfer<Side>>,
): Promise<Record<Side, LoadFigures>> {
  const { seconds, rounds, warmUpTurns = 1, settleMs = 0 } = options;
  const sides = Object.keys(targets) as Side[];
  const figures = Object.fromEntries(
    sides.map((side): [Side, LoadFigures] => [side, { perSecond: [], waitsMs: [], failed: 0 }]),
  ) as Record<Side, LoadFigures>;
  for (let turn = 0; turn <= rounds; turn += 1) {
    for (const side of sides) {
      const load = { connections: LOAD_CONNECTIONS, seconds: turn === 0 ? seconds * warmUpTurns : seconds };
      const { perSecond, failed } = await sendWithoutPause(targets[side], load);
      await sleep(settleMs);
      const waitsMs = (options.pausedSides ?? sides).includes(side) ? await sendWithPauses(targets[side]) : [];
      if (turn === 0) continue;
      figures[side].perSecond.push(perSecond);
      figures[side].waitsMs.push(...waitsMs);
      figures[side].failed += failed;
    }
  }
  return figures;
}

export function printLoads(sides: Record<string, LoadFigures>): void {
  console.table(
    Object.entries(sides).map(([side, { perSecond, waitsMs, failed }]) => ({
      side,
      [`req/s at ${LOAD_CONNECTIONS} connections`]: Math.round(percentile(perSecond, 0.5)),
      [`p50 ms at ${PAUSED_CONNECTIONS}`]: round(percentile(waitsMs, 0.5)),
      [`p99 ms at ${PAUSED_CONNECTIONS}`]: round(percentile(waitsMs, 0.99)),
      failed,
    })),
  );
}

/** One connection that sends the same request again and again, and costs next to nothing: it shares its core with others. */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile, round } from './statistics.ts';

export interface LeanRequest {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Status of a good answer; 200 unless told. */
  status?: number;
}

export interface LeanClient {
  /**
   * Resolves with the status when the last byte of the answer is there; it must have a Content-Length, or be 304. With
   * `other`, that is asked instead.
   */
  ask(other?: LeanRequest): Promise<number>;
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

  /** Only the head is looked at; of the body the bytes are counted. */
  function take(bytes: Buffer): void {
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
    // One buffer for all answers: a new one for each costs more than reading into it.
    onread: {
      buffer: Buffer.allocUnsafe(128 * 1024),
      callback: (size, buffer) => {
        take((buffer as Buffer).subarray(0, size));
        return true;
      },
    },
  });
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', (error) => fail(error));
  socket.on('close', () => fail(new Error('the connection was closed')));
  return {
    ask: (other) =>
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

/** Connections that ask without a pause. Answers how many requests a second had the wanted status, and how many had not. */
export async function askWithoutPause(
  request: LeanRequest,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<{ perSecond: number; failed: number }> {
  const { status = 200 } = request;
  let answered = 0;
  let failed = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const connection = async () => {
    const line = await openLeanClient(request);
    while (performance.now() < endsAt) {
      if ((await line.ask()) === status) answered += 1;
      else failed += 1;
    }
    line.close();
  };
  await Promise.all(Array.from({ length: connections }, connection));
  return { perSecond: (answered * 1_000) / (performance.now() - startedAt), failed };
}

/** A turn so many times as long comes first: V8 compiles what it serves with for half a minute, and a server runs for weeks. */
export const WARM_UP = 4;
/** Connections that ask without a pause, and that pause between their requests. */
export const MANY = 32;
export const FEW = 8;
const REQUESTS = 1_000;
const PAUSE_MS = 8;

/**
 * A few clients that pause between their requests: what one of them waits, without a queue in front of it (with pauses of
 * 4 ms one in four met another's request). No two pauses are alike: equal ones would make all clients ask in the same
 * instant, and wait for each other.
 */
export async function askSingly(target: LeanRequest): Promise<number[]> {
  const waits: number[] = [];
  const client = async () => {
    const line = await openLeanClient(target);
    for (let asked = 0; asked < REQUESTS / FEW; asked += 1) {
      await sleep(PAUSE_MS * (0.5 + Math.random()));
      const startMs = performance.now();
      if ((await line.ask()) !== 200) throw new Error('refused');
      waits.push(performance.now() - startMs);
    }
    line.close();
  };
  await Promise.all(Array.from({ length: FEW }, client));
  return waits;
}

export interface LoadFigures {
  /** Requests per second of each turn. */
  perSecond: number[];
  /** Duration of each request of the few clients, in milliseconds. */
  waitsMs: number[];
  failed: number;
}

interface TurnOptions<Side extends string> {
  seconds: number;
  /** Turns that are measured, after one that only warms up. */
  rounds: number;
  /** How many times as long as the others the first turn is. */
  warmUp?: number;
  /** Pause between the two kinds of load. */
  settleMs?: number;
  /** Sides that a few clients ask too; all of them unless told. */
  singly?: readonly Side[];
}

/** Measures the sides in turns, by many connections and then by few, so that a drift of the machine strikes all. */
export async function measureInTurns<Side extends string>(
  targets: Record<Side, LeanRequest>,
  options: TurnOptions<NoInfer<Side>>,
): Promise<Record<Side, LoadFigures>> {
  const { seconds, rounds, warmUp = 1, settleMs = 0 } = options;
  const sides = Object.keys(targets) as Side[];
  const figures = Object.fromEntries(
    sides.map((side): [Side, LoadFigures] => [side, { perSecond: [], waitsMs: [], failed: 0 }]),
  ) as Record<Side, LoadFigures>;
  for (let turn = 0; turn <= rounds; turn += 1) {
    for (const side of sides) {
      const load = { connections: MANY, seconds: turn === 0 ? seconds * warmUp : seconds };
      const { perSecond, failed } = await askWithoutPause(targets[side], load);
      await sleep(settleMs);
      const waitsMs = (options.singly ?? sides).includes(side) ? await askSingly(targets[side]) : [];
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
      [`req/s at ${MANY} connections`]: Math.round(percentile(perSecond, 0.5)),
      [`p50 ms at ${FEW}`]: round(percentile(waitsMs, 0.5)),
      [`p99 ms at ${FEW}`]: round(percentile(waitsMs, 0.99)),
      failed,
    })),
  );
}

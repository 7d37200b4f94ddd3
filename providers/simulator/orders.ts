/**
 * Accepted orders of the simulated service, in a folder that all workers of the entry share. A lost reply can be looked up
 * by another process, also after a restart, and a test can count submissions.
 *
 * `orders/<UTC day>/<reference>` holds one JSON line per accepted submission of that reference;
 * `counters/<name>` holds 16 bytes per counted call.
 */
import { createHash, randomBytes } from 'node:crypto';
import { appendFile, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OrderedOutput, SpoiledOutput } from './orderedOutput.ts';

export type SimulatedOrder = OrderedOutput & {
  reference: string;
  model: string;
  acceptedAtMs: number;
  /** Time at which the output is ready. */
  readyAtMs: number;
  /** Damage to the output by a fault at submission. */
  spoiled?: SpoiledOutput;
};

export interface OrderStore {
  /** Accepts the order. A second submission of a reference is a second accepted order, as at a real service. */
  accept(order: SimulatedOrder): Promise<void>;
  /** Returns the first accepted order of the reference. */
  find(reference: string): Promise<SimulatedOrder | undefined>;
  /** Returns every accepted submission of the reference, oldest first. More than one means that it was paid twice. */
  submissions(reference: string): Promise<SimulatedOrder[]>;
  /** Counts a call across all processes: 1 for the first. */
  count(name: string): Promise<number>;
}

const DAY_MS = 86_400_000;
const TOKEN_BYTES = 16;
/** Holds more calls than one machine makes between an append and its read. */
const TAIL_BYTES = TOKEN_BYTES * 65_536;

export function openOrders(folder: string): OrderStore {
  let sweptDay = '';

  /** Keeps the orders of two days; older ones are never requested. */
  async function sweep(nowMs: number): Promise<void> {
    const today = day(nowMs);
    if (sweptDay === today) return;
    sweptDay = today;
    const kept = new Set([today, day(nowMs - DAY_MS)]);
    for (const name of await readdir(join(folder, 'orders')).catch(() => [])) {
      if (!kept.has(name)) await rm(join(folder, 'orders', name), { recursive: true, force: true });
    }
  }

  async function submissions(reference: string): Promise<SimulatedOrder[]> {
    const nowMs = Date.now();
    const lines: string[] = [];
    for (const ms of [nowMs - DAY_MS, nowMs]) {
      const text = await readFile(join(folder, 'orders', day(ms), fileName(reference)), 'utf8').catch(absent);
      lines.push(...text.split('\n').filter((line) => line !== ''));
    }
    // A cast at the parse boundary: this file wrote each line by one append.
    return lines.map((line) => JSON.parse(line) as SimulatedOrder);
  }

  return {
    async accept(order) {
      await sweep(order.acceptedAtMs);
      const path = join(folder, 'orders', day(order.acceptedAtMs), fileName(order.reference));
      await append(path, `${JSON.stringify(order)}\n`);
    },
    async find(reference) {
      return (await submissions(reference))[0];
    },
    submissions,
    async count(name) {
      const token = randomBytes(TOKEN_BYTES / 2).toString('hex');
      const path = join(folder, 'counters', fileName(name));
      await append(path, token);
      return position(path, token);
    },
  };
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function fileName(name: string): string {
  return /^[A-Za-z0-9_-]{1,100}$/.test(name) ? name : createHash('sha256').update(name).digest('hex');
}

function absent(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}

/** One append is one write at the end of the file, so lines of several processes never mix. */
async function append(path: string, text: string): Promise<void> {
  try {
    await appendFile(path, text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, text);
  }
}

/** Ordinal of a token by its position, whatever was appended after it. */
async function position(path: string, token: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const tail = Buffer.alloc(size - from);
    await file.read(tail, 0, tail.length, from);
    const at = tail.indexOf(token, 0, 'latin1');
    if (at < 0) throw new Error(`the counter ${path} lost a call`);
    return (from + at) / TOKEN_BYTES + 1;
  } finally {
    await file.close();
  }
}

/**
 * Takes the background off pictures, in child processes with hard limits on time and memory: no picture is decoded in this
 * process, and one that makes its decoder swell ends with its child.
 */

import { tooBusy } from '../../infra/tooBusy.ts';
import { createChildPool } from '../child/childPool.ts';
import { shippedChild } from '../child/keptChild.ts';
import type { CutAnswer, CutQuestion, CutRefusal } from './childWords.ts';
import type { Size } from './picture.ts';

/** `failed`: no fault of the picture that we know of, or it was ended by its limits. */
export type CutEnd = { end: 'cut'; size: Size } | { end: CutRefusal | 'failed'; detail: string };

export interface Cutter {
  /**
   * Writes a PNG with alpha to `outputPath`. Throws FareboxError `unavailable` when too many wait or one waited too long,
   * and when it was aborted.
   */
  cut(question: CutQuestion, signal?: AbortSignal): Promise<CutEnd>;
  close(): void;
}

export interface CutterOptions {
  /** The compiled child; the shipped one by default. */
  childPath?: string;
  maxChildren?: number;
  maxWaiting?: number;
  maxWaitMs?: number;
  timeoutMs?: number;
}

const LIMITS = { heapMb: 512, memoryMb: 1_280, filesPerChild: 100, cpuSeconds: 3_000 };
const busy = tooBusy('pictures are being cut out', 5);

export function createCutter(options: CutterOptions = {}): Cutter {
  const { childPath = shippedChild('engines/cutout/cutoutChild'), ...bounds } = options;
  const pool = createChildPool<CutQuestion, CutAnswer>({
    ...LIMITS,
    ...{ maxChildren: 2, maxWaiting: 32, maxWaitMs: 30_000, timeoutMs: 60_000, ...bounds },
    path: childPath,
    name: 'cutout',
  });
  return {
    async cut(question, signal) {
      const answer = await pool.ask(question, signal).catch(busy);
      if (answer === undefined) return { end: 'failed', detail: 'the child was ended by its limits' };
      const { size, refusal, detail = '' } = answer;
      return size === undefined ? { end: refusal ?? 'failed', detail } : { end: 'cut', size };
    },
    close() {
      pool.close();
    },
  };
}

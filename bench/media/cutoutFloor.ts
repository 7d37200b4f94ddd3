/**
 * The floor of a cut-out: what OpenCV and sharp take for the same picture, in this process. That is decoding, both working
 * sizes, GrabCut at both with the marks and rounds that the cut-out gives it, and the same PNG written; where the subject
 * starts, the cleaning of its mask and the refinement of its edge are ours, and are not in it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { COARSE_SIDE, cutOut, decode, scaled, WORKING_SIDE, write } from '../../engines/cutout/cutOut.ts';
import { grabCut, openCvReady } from '../../engines/cutout/grabCut.ts';
import { segment } from '../../engines/cutout/segment.ts';

export interface CutoutFloor {
  /** One run; milliseconds. */
  run(): Promise<number>;
  close(): Promise<void>;
}

/** Learns from a cut-out of the picture, which is not timed, what GrabCut is asked and what is written. */
export async function openCutoutFloor(path: string): Promise<CutoutFloor> {
  await openCvReady();
  // As in the child: one picture, one core.
  sharp.concurrency(1);
  sharp.cache(false);
  const folder = await mkdtemp(join(tmpdir(), 'farebox-cutout-floor-'));
  const output = join(folder, 'cutout.png');
  const size = await cutOut(path, output);
  const result = await sharp(output).raw().toBuffer();
  const marks = await marksOf(path);
  return {
    async run() {
      const startMs = performance.now();
      const source = await decode(path);
      const picture = await scaled(source.rgba, source.size, WORKING_SIDE);
      const coarse = await scaled(source.rgba, source.size, COARSE_SIDE);
      for (const [index, asked] of marks.entries())
        grabCut(index === 0 ? coarse : picture, asked.marks, asked.rounds);
      await write(result, size, output);
      return performance.now() - startMs;
    },
    close: () => rm(folder, { recursive: true }),
  };
}

interface Asked {
  marks: Uint8Array;
  rounds: number;
}

/** What GrabCut is asked, at the coarse size first. */
async function marksOf(path: string): Promise<Asked[]> {
  const { rgba, size } = await decode(path);
  const asked: Asked[] = [];
  const picture = await scaled(rgba, size, WORKING_SIDE);
  segment(picture, await scaled(rgba, size, COARSE_SIDE), (at, marks, rounds) => {
    asked.push({ marks: marks.slice(), rounds });
    return grabCut(at, marks, rounds);
  });
  return asked;
}

/** GrabCut of OpenCV (Rother, Kolmogorov, Blake 2004): colour models of both sides and a cut along the edges, in turns. */
import cv from '@techstark/opencv-js';
import type { Picture } from './picture.ts';

/** What is known of a pixel before, in OpenCV's words. */
export const BACKGROUND = 0;
export const SUBJECT = 1;
export const PROBABLY_BACKGROUND = 2;
export const PROBABLY_SUBJECT = 3;

/** The wasm is compiled when the module is loaded. */
export async function openCvReady(): Promise<void> {
  if (typeof cv.Mat === 'function') return;
  await new Promise<void>((resolve) => {
    cv.onRuntimeInitialized = resolve;
  });
}

/** 1 for the subject. `marks` must have both sides. */
export function grabCut({ width, height, rgb }: Picture, marks: Uint8Array, rounds: number): Uint8Array {
  const picture = new cv.Mat(height, width, cv.CV_8UC3);
  const mask = new cv.Mat(height, width, cv.CV_8UC1);
  const background = new cv.Mat();
  const subject = new cv.Mat();
  try {
    // The colour models start at random: one picture has one result.
    cv.setRNGSeed(1);
    picture.data.set(rgb);
    mask.data.set(marks);
    const whole = new cv.Rect(0, 0, width, height);
    cv.grabCut(picture, mask, whole, background, subject, rounds, cv.GC_INIT_WITH_MASK);
    // A copy: what `data` shows is the wasm's memory.
    return (mask.data as Uint8Array).map((mark) => mark & 1);
  } finally {
    for (const mat of [picture, mask, background, subject]) mat.delete();
  }
}

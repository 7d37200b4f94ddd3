/**
 * The minimum barrier distance to the seeds (Zhang et al., "Minimum barrier salient object detection at 80 fps", ICCV 2015):
 * along the best path, the range between the highest and the lowest value. Sweeps forth and back approximate it.
 */
import type { LabPicture, Size } from './picture.ts';
import { sweep } from './sweep.ts';

const SWEEPS = 2;

/** Summed over the three channels. */
export function barrierDistance(lab: LabPicture, seeds: Uint8Array): Float32Array {
  const total = new Float32Array(seeds.length);
  for (const plane of lab.planes) {
    const distance = ofPlane(plane, lab, seeds);
    for (let pixel = 0; pixel < total.length; pixel += 1) {
      total[pixel] = (total[pixel] as number) + (distance[pixel] as number);
    }
  }
  return total;
}

/** Without a seed. */
export const UNREACHED = 1e9;

function ofPlane(plane: Float32Array, size: Size, seeds: Uint8Array): Float32Array {
  const distance = new Float32Array(seeds.length).fill(UNREACHED);
  seeds.forEach((seed, pixel) => {
    if (seed === 1) distance[pixel] = 0;
  });
  const highest = plane.slice();
  const lowest = plane.slice();
  const goOn = (to: number, from: number): void => {
    if ((distance[from] as number) >= UNREACHED) return;
    const value = plane[to] as number;
    const high = Math.max(highest[from] as number, value);
    const low = Math.min(lowest[from] as number, value);
    if (high - low >= (distance[to] as number)) return;
    distance[to] = high - low;
    highest[to] = high;
    lowest[to] = low;
  };
  for (let time = 0; time < SWEEPS; time += 1) sweep(size, false, goOn);
  return distance;
}

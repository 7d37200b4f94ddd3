/**
 * The minimum barrier distance to the seeds (Zhang et al., "Minimum barrier salient object detection at 80 fps", ICCV 2015):
 * along the best path, the range between the highest and the lowest value. Sweeps forth and back approximate it.
 */
import type { LabPicture, Size } from './picture.ts';

const SWEEPS = 2;

/** Without a seed. */
export const UNREACHED = 1e9;

/** Of one channel: the distance, and the range of values on the path that has it. */
interface Paths {
  plane: Float32Array;
  distance: Float32Array;
  highest: Float32Array;
  lowest: Float32Array;
}

/** Summed over the three channels. */
export function barrierDistance(lab: LabPicture, seeds: Uint8Array): Float32Array {
  const count = seeds.length;
  const total = new Float32Array(count);
  const distance = new Float32Array(count);
  const highest = new Float32Array(count);
  const lowest = new Float32Array(count);
  for (const plane of lab.planes) {
    for (let pixel = 0; pixel < count; pixel += 1) distance[pixel] = seeds[pixel] === 1 ? 0 : UNREACHED;
    highest.set(plane);
    lowest.set(plane);
    const paths = { plane, distance, highest, lowest };
    for (let time = 0; time < SWEEPS; time += 1) {
      pass(paths, lab, 1);
      pass(paths, lab, -1);
    }
    for (let pixel = 0; pixel < count; pixel += 1) {
      total[pixel] = (total[pixel] as number) + (distance[pixel] as number);
    }
  }
  return total;
}

/** Every pixel asks those before it on its row and its column: `way` 1 those at the left and above, -1 the others. */
function pass(paths: Paths, { width, height }: Size, way: 1 | -1): void {
  let pixel = way === 1 ? 0 : width * height - 1;
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, pixel += way) {
      if (x > 0) goOn(paths, pixel, pixel - way);
      if (y > 0) goOn(paths, pixel, pixel - way * width);
    }
  }
}

function goOn({ plane, distance, highest, lowest }: Paths, pixel: number, from: number): void {
  const own = distance[pixel] as number;
  // Most pixels are seeds or beside a path as good as theirs: the values are read only for what may gain by it.
  if ((distance[from] as number) >= own) return;
  const value = plane[pixel] as number;
  const high = Math.max(highest[from] as number, value);
  const low = Math.min(lowest[from] as number, value);
  if (high - low >= own) return;
  distance[pixel] = high - low;
  highest[pixel] = high;
  lowest[pixel] = low;
}

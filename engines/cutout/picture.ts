/** Planes of numbers in rows, as the steps of a cut-out hand them on. */

export interface Size {
  width: number;
  height: number;
}

/** 8 bits a channel, three channels. */
export interface Picture extends Size {
  rgb: Uint8Array;
}

/** CIE L*a*b* (D65), the three channels as planes of their own; L from 0 to 100. */
export interface LabPicture extends Size {
  planes: readonly [Float32Array, Float32Array, Float32Array];
}

const LINEAR = Float32Array.from({ length: 256 }, (_, value) => {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
});

/** The cube root of L*a*b*, by table: a picture has more pixels than the table has steps. */
const ROOT_STEPS = 4_096;
const ROOT = Float32Array.from({ length: ROOT_STEPS + 2 }, (_, step) => {
  const part = step / ROOT_STEPS;
  return part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116;
});

export function toLab({ width, height, rgb }: Picture): LabPicture {
  const count = width * height;
  const planes = [new Float32Array(count), new Float32Array(count), new Float32Array(count)] as const;
  for (let pixel = 0, from = 0; pixel < count; pixel += 1, from += 3) {
    const red = LINEAR[rgb[from] as number] as number;
    const green = LINEAR[rgb[from + 1] as number] as number;
    const blue = LINEAR[rgb[from + 2] as number] as number;
    const x = root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505);
    const y = root(0.2126 * red + 0.7152 * green + 0.0722 * blue);
    const z = root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089);
    planes[0][pixel] = 116 * y - 16;
    planes[1][pixel] = 500 * (x - y);
    planes[2][pixel] = 200 * (y - z);
  }
  return { width, height, planes };
}

function root(part: number): number {
  const place = Math.min(part, 1) * ROOT_STEPS;
  const step = Math.floor(place);
  const low = ROOT[step] as number;
  return low + (place - step) * ((ROOT[step + 1] as number) - low);
}

/** Mean over the square of `radius` around each pixel; at the edges over what there is of it. */
export function boxMean(plane: Float32Array, { width, height }: Size, radius: number): Float32Array {
  const rows = new Float32Array(plane.length);
  for (let y = 0; y < height; y += 1)
    slide(plane, rows, { start: y * width, step: 1, length: width, radius });
  const means = new Float32Array(plane.length);
  for (let x = 0; x < width; x += 1) slide(rows, means, { start: x, step: width, length: height, radius });
  return means;
}

interface Line {
  start: number;
  step: number;
  length: number;
  radius: number;
}

function slide(from: Float32Array, to: Float32Array, { start, step, length, radius }: Line): void {
  let sum = 0;
  let count = 0;
  for (let ahead = 0; ahead < Math.min(radius, length); ahead += 1) {
    sum += from[start + ahead * step] as number;
    count += 1;
  }
  for (let at = 0; at < length; at += 1) {
    if (at + radius < length) {
      sum += from[start + (at + radius) * step] as number;
      count += 1;
    }
    if (at - radius > 0) {
      sum -= from[start + (at - radius - 1) * step] as number;
      count -= 1;
    }
    to[start + at * step] = sum / count;
  }
}

export interface Window {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** The columns and rows of the square of `radius` around a pixel, as far as there are any; all four belong to it. */
export function windowOf(pixel: number, { width, height }: Size, radius: number): Window {
  const row = Math.floor(pixel / width);
  const column = pixel - row * width;
  return {
    left: Math.max(column - radius, 0),
    right: Math.min(column + radius, width - 1),
    top: Math.max(row - radius, 0),
    bottom: Math.min(row + radius, height - 1),
  };
}

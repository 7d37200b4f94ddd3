/** Fundamental frequency and timbre of a recording, measured on decoded samples. */
import { spawnSync } from 'node:child_process';

const RATE = 16_000;
const WINDOW = 1_600;
const STEP = 1_600;
const MIN_HZ = 50;
const MAX_HZ = 520;
const MIN_ENERGY = 0.5;
const MIN_PERIODICITY = 0.6;

/** Mono samples at 16 kHz. */
export function decodeSamples(ffmpegPath: string, path: string): Float32Array {
  const options = ['-v', 'error', '-i', path, '-ac', '1', '-ar', String(RATE), '-f', 'f32le', 'pipe:1'];
  const { stdout } = spawnSync(ffmpegPath, options, { maxBuffer: 256 * 1024 * 1024 });
  const whole = stdout.subarray(0, stdout.length - (stdout.length % 4));
  return new Float32Array(whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.length));
}

export function secondsOf(samples: Float32Array): number {
  return samples.length / RATE;
}

/** Median over the voiced windows, by autocorrelation. Searches the range of a voice raised by this factor. */
export function fundamentalHz(samples: Float32Array, raisedBy = 1): number {
  const range = { lowestHz: MIN_HZ * raisedBy, highestHz: MAX_HZ * raisedBy };
  const found: number[] = [];
  for (let start = 0; start + WINDOW <= samples.length; start += STEP) {
    const hz = windowHz(centred(samples.subarray(start, start + WINDOW)), range);
    if (hz !== undefined) found.push(hz);
  }
  found.sort((left, right) => left - right);
  return found[Math.floor(found.length / 2)] ?? Number.NaN;
}

function centred(window: Float32Array): Float32Array {
  const mean = window.reduce((sum, value) => sum + value, 0) / window.length;
  return window.map((value) => value - mean);
}

function windowHz(window: Float32Array, range: { lowestHz: number; highestHz: number }): number | undefined {
  const energy = correlation(window, 0);
  if (energy < MIN_ENERGY) return undefined;
  let best = 0;
  let bestLag = 0;
  for (let lag = Math.floor(RATE / range.highestHz); lag <= Math.ceil(RATE / range.lowestHz); lag += 1) {
    const value = correlation(window, lag) / (1 - lag / WINDOW);
    if (value > best * 1.02) {
      best = value;
      bestLag = lag;
    }
  }
  return best / energy > MIN_PERIODICITY ? RATE / bestLag : undefined;
}

function correlation(window: Float32Array, lag: number): number {
  let sum = 0;
  for (let index = 0; index + lag < window.length; index += 1) {
    sum += (window[index] ?? 0) * (window[index + lag] ?? 0);
  }
  return sum;
}

/** Energy of the bands from 100 to 4,500 Hz in decibels of the whole: the effect of the vocal tract. */
export function timbre(samples: Float32Array): number[] {
  const bands = Array.from({ length: 22 }, (_, index) => bandEnergy(samples, 100 + index * 200));
  const total = bands.reduce((sum, energy) => sum + energy, 0);
  return bands.map((energy) => 10 * Math.log10(energy / total));
}

/** Goertzel over short windows, three lines per band. */
function bandEnergy(samples: Float32Array, hz: number): number {
  let energy = 0;
  for (const line of [hz - 60, hz, hz + 60]) {
    const factor = 2 * Math.cos((2 * Math.PI * line) / RATE);
    for (let start = 0; start + 512 <= samples.length; start += 2_048) {
      let [first, second] = [0, 0];
      for (let index = start; index < start + 512; index += 1) {
        [first, second] = [(samples[index] ?? 0) + factor * first - second, first];
      }
      energy += first * first + second * second - factor * first * second;
    }
  }
  return energy;
}

export function timbreDistance(left: number[], right: number[]): number {
  const squares = left.map((value, index) => (value - (right[index] ?? 0)) ** 2);
  return Math.sqrt(squares.reduce((sum, value) => sum + value, 0) / left.length);
}

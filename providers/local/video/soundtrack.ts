/** The sound of a video: what was handed in, or a soft chord whose root the prompt decides. */
import { createHash } from 'node:crypto';

const RATE = 48_000;
/** Semitones above the root. */
const CHORD = [0, 7, 12, 16];
const MIN_ROOT_HZ = 110;
/** Of one note; full scale is 1. */
const AMPLITUDE = 0.05;

/** Ends in `[sound]`, exactly so long. `input` is read again from its start when it is shorter: its reader loops. */
export function givenSound(input: number, seconds: number): string {
  return `[${input}:a:0]aresample=${RATE},${finished(seconds, 0.03)}`;
}

/** The same, made of nothing. The same prompt gives the same sound. */
export function chord(prompt: string, seconds: number): string {
  const root = MIN_ROOT_HZ * 2 ** ((createHash('sha256').update(prompt).digest().readUInt8(0) % 12) / 12);
  const notes = CHORD.map((above) => `${AMPLITUDE}*sin(2*PI*${(root * 2 ** (above / 12)).toFixed(3)}*t)`);
  return `aevalsrc='${notes.join('+')}':s=${RATE}:d=${seconds},${finished(seconds, 0.8)}`;
}

function finished(seconds: number, riseSeconds: number): string {
  const [rise, fall] = [Math.min(riseSeconds, seconds / 4), Math.min(0.8, seconds / 3)];
  const length = `apad,atrim=end_sample=${Math.round(seconds * RATE)},asetpts=N/SR/TB`;
  const fades = `afade=t=in:d=${rise.toFixed(3)},afade=t=out:st=${(seconds - fall).toFixed(3)}:d=${fall.toFixed(3)}`;
  return `aformat=channel_layouts=stereo,${length},${fades}[sound]`;
}

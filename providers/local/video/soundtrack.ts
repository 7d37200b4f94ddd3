/** The sound of a video: what was handed in, or a soft pad of chords with the weather of its words. */
import { createHash } from 'node:crypto';
import { themeOf, type Weather } from './theme.ts';

const RATE = 48_000;

/** Ends in `[sound]`, exactly so long. `input` is read again from its start when it is shorter: its reader loops. */
export function givenSound(input: number, seconds: number): string {
  return `[${input}:a:0]aresample=${RATE},aformat=channel_layouts=stereo,${exactly(seconds)},${faded(seconds, 0.03, 0.8)}[sound]`;
}

/** Semitones above a root, in the order in which they follow each other. */
const PROGRESSIONS = [
  [
    [0, 7, 12, 16],
    [-4, 5, 12, 15],
    [-7, 5, 9, 12],
    [-5, 7, 11, 14],
  ],
  [
    [0, 7, 12, 15],
    [-4, 3, 8, 12],
    [-9, 3, 10, 15],
    [-2, 5, 10, 14],
  ],
  [
    [0, 7, 14, 16],
    [-3, 4, 9, 16],
    [-7, 5, 9, 16],
    [-5, 7, 9, 14],
  ],
] as const;
const CHORD_SECONDS = 5;
const ROOTS = [110, 116.54, 123.47, 130.81, 138.59, 146.83];

/** Chains that end in `[sound]`, exactly so long. The same prompt gives the same sound. */
export function ambientSound(prompt: string, seconds: number): string[] {
  const digest = createHash('sha256').update(prompt).digest();
  const root = ROOTS[(digest[0] ?? 0) % ROOTS.length] ?? 110;
  const progression = PROGRESSIONS[(digest[1] ?? 0) % PROGRESSIONS.length] ?? PROGRESSIONS[0];
  const { weather, place, seed } = themeOf('', prompt);
  const shown = weatherIn(prompt) ?? weather;
  const pad = [
    `aevalsrc='${side(progression, root, 1)}|${side(progression, root, -1)}':s=${RATE}:d=${seconds}`,
  ];
  const soft = 'lowpass=f=1400,aecho=0.8:0.6:180|310:0.35|0.25,volume=0.8';
  const noise = shown === undefined ? (place === 'sea' ? NOISES.sea : NOISES.air) : NOISES[shown];
  return [
    `${pad},${soft}[pad]`,
    `anoisesrc=r=${RATE}:d=${seconds}:color=${noise.colour}:amplitude=${noise.loud}:seed=${seed},${noise.shape},aformat=channel_layouts=stereo[air]`,
    `[pad][air]amix=inputs=2:duration=first:normalize=0,alimiter=limit=0.8:level=disabled,${exactly(seconds)},${faded(seconds, 0.8, 1.2)}[sound]`,
  ];
}

type Chords = readonly (readonly number[])[];

/** One of both sides: the chords swell and fade into each other, each voice a little out of tune with the other side's. */
function side(chords: Chords, root: number, hand: 1 | -1): string {
  const cycle = chords.length * CHORD_SECONDS;
  const voices = chords.map((notes, index) => {
    // From the middle of the chord, around the cycle: it is heard until the next one is.
    const middle = (index + 0.35) * CHORD_SECONDS;
    const away = `abs(mod(t-${middle}+${cycle * 1.5},${cycle})-${cycle / 2})`;
    const swell = `clip(1.15-${away}/${CHORD_SECONDS * 0.75},0,1)`;
    const tones = notes.map((note, voice) => {
      const hertz = root * 2 ** (note / 12) * (1 + hand * 0.0011 * (voice + 1));
      return `sin(${(2 * Math.PI * hertz).toFixed(4)}*t)*${(0.075 / (1 + voice * 0.25)).toFixed(4)}`;
    });
    return `${swell}*(${tones.join('+')})`;
  });
  return `(${voices.join('+')})*(0.85+0.15*sin(t*${hand > 0 ? 0.9 : 0.73}))`;
}

interface Noise {
  colour: 'white' | 'pink' | 'brown';
  loud: number;
  shape: string;
}

const NOISES: Record<Weather | 'sea' | 'air', Noise> = {
  air: { colour: 'pink', loud: 0.012, shape: 'lowpass=f=900' },
  sea: { colour: 'pink', loud: 0.09, shape: 'lowpass=f=1100,tremolo=f=0.16:d=0.7' },
  rain: { colour: 'white', loud: 0.03, shape: 'highpass=f=900,lowpass=f=7000' },
  snow: { colour: 'brown', loud: 0.07, shape: 'lowpass=f=500,tremolo=f=0.2:d=0.5' },
  embers: { colour: 'brown', loud: 0.09, shape: 'highpass=f=120,tremolo=f=7:d=0.4' },
};

function weatherIn(prompt: string): Weather | undefined {
  return themeOf(prompt, prompt).weather;
}

function exactly(seconds: number): string {
  return `apad,atrim=end_sample=${Math.round(seconds * RATE)},asetpts=N/SR/TB`;
}

function faded(seconds: number, rise: number, fall: number): string {
  const [start, end] = [Math.min(rise, seconds / 4), Math.min(fall, seconds / 3)];
  return `afade=t=in:d=${start.toFixed(3)},afade=t=out:st=${(seconds - end).toFixed(3)}:d=${end.toFixed(3)}`;
}

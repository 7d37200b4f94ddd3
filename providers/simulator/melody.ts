/**
 * The simulator's music and speech: a test melody of exactly the ordered length. Nobody composed it and nobody sings, and it
 * says so inside the file.
 */
import { samplesOf, writeWav } from './wav.ts';

const SAMPLE_RATE = 16_000;
const COMMENT = 'Farebox simulator: a test melody, not a composed piece';
const AMPLITUDE = 0.18;
/** Semitones above the root. */
const SCALES = [
  [0, 2, 4, 7, 9, 12],
  [0, 3, 5, 7, 10, 12],
] as const;
const LOWEST_ROOT_HZ = 196;
const PATTERN_BEATS = 12;
const ATTACK_SECONDS = 0.01;
const RELEASE_SECONDS = 0.03;
/** Share of the loudness that is left after a second of a note. */
const DECAY = 0.05;

export interface Melody {
  seconds: number;
  /** 32 hexadecimal digits that stand for all that was ordered. */
  theme: string;
  /** Ends on a beat from which the first one follows; otherwise it comes to rest on the root. */
  loop: boolean;
  cut?: boolean;
}

/** Writes a 16 kHz mono 16-bit WAV, 32 kB a second. The same melody gives the same bytes. */
export async function writeMelody(path: string, melody: Melody): Promise<void> {
  const samples = Math.max(1, Math.round(melody.seconds * SAMPLE_RATE));
  await writeWav(path, {
    samplesPerSecond: SAMPLE_RATE,
    samples,
    comment: COMMENT,
    pieces: beatsOf(melody, samples),
    cut: melody.cut,
  });
}

/** One piece per beat; the notes of the pattern are computed once, however long the melody is. */
function* beatsOf({ theme, seconds, loop }: Melody, samples: number): Generator<Buffer> {
  const bytes = Buffer.from(theme, 'hex');
  const rootHz = LOWEST_ROOT_HZ * 2 ** ((byteAt(bytes, 0) % 8) / 12);
  const scale = SCALES[byteAt(bytes, 1) % SCALES.length] ?? SCALES[0];
  const beats = beatCount(seconds * (2 + (byteAt(bytes, 2) % 5) / 2), loop);
  const longest = Math.ceil(samples / beats);
  const known = new Map<number, Buffer>();
  for (let beat = 0; beat < beats; beat += 1) {
    const isRest = !loop && beat === beats - 1;
    const step = isRest ? 0 : byteAt(bytes, 4 + (beat % PATTERN_BEATS)) % scale.length;
    const hertz = rootHz * 2 ** ((scale[step] ?? 0) / 12);
    const note = known.get(step) ?? noteOf(hertz, { rootHz, samples: longest });
    known.set(step, note);
    // Where the length does not divide evenly, some beats are a sample shorter.
    const length = Math.floor(((beat + 1) * samples) / beats) - Math.floor((beat * samples) / beats);
    yield note.subarray(0, length * 2);
  }
}

/** A loop has whole patterns, where it is long enough for one. */
function beatCount(wanted: number, loop: boolean): number {
  if (loop && wanted >= PATTERN_BEATS) return Math.round(wanted / PATTERN_BEATS) * PATTERN_BEATS;
  return Math.max(1, Math.round(wanted));
}

function byteAt(bytes: Buffer, index: number): number {
  return bytes[index % Math.max(1, bytes.length)] ?? 0;
}

/** A plucked note over a low root; it begins and ends in silence, so that beats join without a click. */
function noteOf(hertz: number, { rootHz, samples }: { rootHz: number; samples: number }): Buffer {
  const attack = ATTACK_SECONDS * SAMPLE_RATE;
  const release = RELEASE_SECONDS * SAMPLE_RATE;
  return samplesOf(samples, (index) => {
    const seconds = index / SAMPLE_RATE;
    const wave = (frequency: number) => Math.sin(2 * Math.PI * frequency * seconds);
    const edges = Math.min(1, index / attack, (samples - 1 - index) / release);
    const tone = wave(hertz) + wave(2 * hertz) / 4 + wave(3 * hertz) / 9 + wave(rootHz / 2) / 2;
    return AMPLITUDE * edges * DECAY ** seconds * tone;
  });
}

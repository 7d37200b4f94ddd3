/**
 * Sounds of the simulator: a test tone for a changed voice, a test melody for music and speech. Each file's comment
 * says that it is simulated.
 */
import { createHash } from 'node:crypto';
import { samplesOf, writeWav } from './wav.ts';

const TONE = {
  samplesPerSecond: 8_000,
  comment: 'Farebox simulator: a test tone, not a changed voice',
  amplitude: 0.25,
};
const MELODY = {
  samplesPerSecond: 16_000,
  comment: 'Farebox simulator: a test melody, not a composed piece',
  amplitude: 0.18,
};
/** Semitones above the root. */
const SCALE = [0, 2, 4, 7, 9, 12];
const MIN_ROOT_HZ = 196;
const NOTE_SECONDS = 0.5;
const EDGE_SECONDS = 0.02;
/** Share of the amplitude left after one second of a note. */
const DECAY = 0.05;

interface Sound {
  seconds: number;
  /** Truncates the file to half of what its header declares. */
  cut?: boolean;
}

/**
 * Writes an 8 kHz mono 16-bit WAV as long as the source. Equal orders give equal bytes; voice and seed set the pitch.
 * Takes 16 kB per second and no child process: two seconds cost well under a millisecond.
 */
export async function writeTone(path: string, tone: Sound & { voice: string; seed: number }): Promise<void> {
  const { samplesPerSecond, amplitude } = TONE;
  // Whole hertz, so that one second of samples repeats without a click.
  const hertz = 150 + (createHash('sha256').update(`${tone.voice}\n${tone.seed}`).digest().readUInt16BE(0) % 650);
  const second = samplesOf(samplesPerSecond, (index) => {
    return amplitude * Math.sin((2 * Math.PI * hertz * index) / samplesPerSecond);
  });
  await write(path, { ...TONE, ...tone, pieces: repeated(second) });
}

/** Endless; the reader stops. */
function* repeated(piece: Buffer): Generator<Buffer> {
  while (true) yield piece;
}

interface Melody extends Sound {
  /** Digest of the order, 32 hexadecimal digits. */
  theme: string;
  /** True: no final note, so that it can repeat. False: ends on the root. */
  loop: boolean;
}

/** Writes a 16 kHz mono 16-bit WAV, 32 kB per second. Equal melodies give equal bytes. */
export async function writeMelody(path: string, melody: Melody): Promise<void> {
  await write(path, { ...MELODY, ...melody, pieces: notesOf(melody) });
}

/** Computes each note of the scale once, for any length. */
function* notesOf({ theme, seconds, loop }: Melody): Generator<Buffer> {
  const bytes = Buffer.from(theme, 'hex');
  const rootHz = MIN_ROOT_HZ * 2 ** ((bytes.readUInt8(0) % 8) / 12);
  const notes = SCALE.map((above) => noteOf(rootHz * 2 ** (above / 12), rootHz));
  const count = Math.ceil(seconds / NOTE_SECONDS);
  for (let at = 0; at < count; at += 1) {
    const step = at === count - 1 && !loop ? 0 : bytes.readUInt8(at % bytes.length) % notes.length;
    yield notes[step] ?? Buffer.alloc(0);
  }
}

/** A plucked note over a low root. It begins and ends in silence, so that notes join without a click. */
function noteOf(hertz: number, rootHz: number): Buffer {
  const { samplesPerSecond, amplitude } = MELODY;
  return samplesOf(NOTE_SECONDS * samplesPerSecond, (index) => {
    const seconds = index / samplesPerSecond;
    const wave = (frequency: number) => Math.sin(2 * Math.PI * frequency * seconds);
    const edges = Math.min(1, seconds / EDGE_SECONDS, (NOTE_SECONDS - seconds) / EDGE_SECONDS);
    const tone = wave(hertz) + wave(2 * hertz) / 4 + wave(3 * hertz) / 9 + wave(rootHz / 2) / 2;
    return amplitude * edges * DECAY ** seconds * tone;
  });
}

async function write(
  path: string,
  { seconds, ...sound }: Sound & { samplesPerSecond: number; comment: string; pieces: Iterable<Buffer> },
): Promise<void> {
  await writeWav(path, { ...sound, samples: Math.max(1, Math.round(seconds * sound.samplesPerSecond)) });
}

/** The simulator's voice change: a test tone as long as the source. It is nobody's voice, and says so inside the file. */
import { createHash } from 'node:crypto';
import { samplesOf, writeWav } from './wav.ts';

const SAMPLE_RATE = 8_000;
const AMPLITUDE = 0.25;
const COMMENT = 'Farebox simulator: a test tone, not a changed voice';

export interface Tone {
  seconds: number;
  voice: string;
  seed: number;
  /** Ends in the middle of what its header declares. */
  cut?: boolean;
}

/**
 * Writes an 8 kHz mono 16-bit WAV. The same order gives the same bytes; another voice or seed gives another pitch.
 * About 16 kB a second and no child process: two seconds cost well under a millisecond.
 */
export async function writeTone(path: string, tone: Tone): Promise<void> {
  await writeWav(path, {
    samplesPerSecond: SAMPLE_RATE,
    samples: Math.max(1, Math.round(tone.seconds * SAMPLE_RATE)),
    comment: COMMENT,
    pieces: repeated(oneSecond(pitchHz(tone))),
    cut: tone.cut,
  });
}

/** A whole number of hertz, so that one second of samples can be repeated without a click. */
function pitchHz(tone: Tone): number {
  const digest = createHash('sha256').update(`${tone.voice}\n${tone.seed}`).digest();
  return 150 + (digest.readUInt16BE(0) % 650);
}

function oneSecond(hertz: number): Buffer {
  return samplesOf(SAMPLE_RATE, (index) => AMPLITUDE * Math.sin((2 * Math.PI * hertz * index) / SAMPLE_RATE));
}

/** Without end: whoever reads stops. */
function* repeated(piece: Buffer): Generator<Buffer> {
  while (true) yield piece;
}

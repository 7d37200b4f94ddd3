/** The simulator's output: a test tone as long as the source. It is nobody's voice, and says so inside the file. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const SAMPLE_RATE = 8_000;
const BYTES_PER_SAMPLE = 2;
const PIECES_AT_ONCE = 64;
const AMPLITUDE = 0.25 * 32_767;
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
  const samples = Math.max(1, Math.round(tone.seconds * SAMPLE_RATE));
  const second = oneSecond(pitchHz(tone));
  const file = await open(path, 'wx');
  try {
    const pieces = [wavHeader(samples * BYTES_PER_SAMPLE)];
    const written = tone.cut ? Math.ceil(samples / 2) : samples;
    for (let left = written * BYTES_PER_SAMPLE; left > 0; left -= second.length) {
      pieces.push(left < second.length ? second.subarray(0, left) : second);
      if (pieces.length === PIECES_AT_ONCE) await file.writev(pieces.splice(0));
    }
    if (pieces.length > 0) await file.writev(pieces);
  } finally {
    await file.close();
  }
}

/** A whole number of hertz, so that one second of samples can be repeated without a click. */
function pitchHz(tone: Tone): number {
  const digest = createHash('sha256').update(`${tone.voice}\n${tone.seed}`).digest();
  return 150 + (digest.readUInt16BE(0) % 650);
}

function oneSecond(hertz: number): Buffer {
  const buffer = Buffer.alloc(SAMPLE_RATE * BYTES_PER_SAMPLE);
  for (let index = 0; index < SAMPLE_RATE; index += 1) {
    const value = Math.sin((2 * Math.PI * hertz * index) / SAMPLE_RATE) * AMPLITUDE;
    buffer.writeInt16LE(Math.round(value), index * BYTES_PER_SAMPLE);
  }
  return buffer;
}

function wavHeader(dataBytes: number): Buffer {
  // Chunks have an even length; the zero byte ends the text.
  const text = Buffer.from(COMMENT.length % 2 === 0 ? `${COMMENT}\0\0` : `${COMMENT}\0`, 'latin1');
  const header = Buffer.alloc(12 + 24 + 20 + text.length + 8);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(header.length - 8 + dataBytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLE_RATE, 24);
  header.writeUInt32LE(SAMPLE_RATE * BYTES_PER_SAMPLE, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write('LIST', 36, 'latin1');
  header.writeUInt32LE(12 + text.length, 40);
  header.write('INFOICMT', 44, 'latin1');
  header.writeUInt32LE(text.length, 52);
  text.copy(header, 56);
  header.write('data', 56 + text.length, 'latin1');
  header.writeUInt32LE(dataBytes, 60 + text.length);
  return header;
}

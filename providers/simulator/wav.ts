/** Writes mono 16-bit WAV files whose comment says that they are simulated. */
import { open } from 'node:fs/promises';

const BYTES_PER_SAMPLE = 2;
const PIECES_AT_ONCE = 64;

export interface Wav {
  samplesPerSecond: number;
  samples: number;
  /** Shown by players as the comment. */
  comment: string;
  /** Samples from the beginning; any beyond the length are dropped. */
  pieces: Iterable<Buffer>;
  /** Truncates the file to half of what its header declares. */
  cut?: boolean | undefined;
}

export async function writeWav(path: string, wav: Wav): Promise<void> {
  const wholeBytes = wav.samples * BYTES_PER_SAMPLE;
  let left = wav.cut ? Math.ceil(wav.samples / 2) * BYTES_PER_SAMPLE : wholeBytes;
  const file = await open(path, 'wx');
  try {
    const pieces = [wavHeader(wav, wholeBytes)];
    for (const piece of wav.pieces) {
      if (left <= 0) break;
      pieces.push(left < piece.length ? piece.subarray(0, left) : piece);
      left -= piece.length;
      if (pieces.length === PIECES_AT_ONCE) await file.writev(pieces.splice(0));
    }
    if (pieces.length > 0) await file.writev(pieces);
  } finally {
    await file.close();
  }
}

/** `valueAt` returns −1 to 1 for the index of a sample. */
export function samplesOf(count: number, valueAt: (index: number) => number): Buffer {
  const buffer = Buffer.alloc(count * BYTES_PER_SAMPLE);
  for (let index = 0; index < count; index += 1) {
    buffer.writeInt16LE(Math.round(valueAt(index) * 32_767), index * BYTES_PER_SAMPLE);
  }
  return buffer;
}

function wavHeader({ samplesPerSecond, comment }: Wav, dataBytes: number): Buffer {
  // Chunks have an even length; the zero byte ends the text.
  const text = Buffer.from(comment.length % 2 === 0 ? `${comment}\0\0` : `${comment}\0`, 'latin1');
  const header = Buffer.alloc(12 + 24 + 20 + text.length + 8);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(header.length - 8 + dataBytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(samplesPerSecond, 24);
  header.writeUInt32LE(samplesPerSecond * BYTES_PER_SAMPLE, 28);
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

/**
 * Pictures in base64 within a JSON answer: read and encoded while they are sent, so that none is in memory as a whole.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { type StreamAnswer, stream } from '../http/answer.ts';

export interface FilesInJson {
  /** JSON text before the first file, between two, and after the last, with the quotes of the files. */
  before: string;
  between: string;
  after: string;
  paths: readonly string[];
  headers: Record<string, string>;
}

/** A multiple of three: the base64 of pieces can be concatenated. */
const PIECE_BYTES = 96 * 1024;

/** When it resolves the files are open and may be removed. */
export async function filesInJson({ paths, headers, ...texts }: FilesInJson): Promise<StreamAnswer> {
  const files: FileHandle[] = [];
  const close = async () => {
    await Promise.all(files.map((file) => file.close().catch(() => undefined)));
  };
  try {
    for (const path of paths) files.push(await open(path));
  } catch (error) {
    await close();
    throw error;
  }
  const bytes = Readable.from(textOf(files, texts), { objectMode: false });
  bytes.once('close', () => void close());
  return stream({ stream: bytes, contentType: 'application/json; charset=utf-8' }, { headers });
}

async function* textOf(
  files: readonly FileHandle[],
  { before, between, after }: Pick<FilesInJson, 'before' | 'between' | 'after'>,
): AsyncGenerator<Buffer, void> {
  for (const [index, file] of files.entries()) {
    yield Buffer.from(index === 0 ? before : between);
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let read = await filled(file, piece); read > 0; read = await filled(file, piece)) {
      yield Buffer.from(piece.toString('base64', 0, read), 'latin1');
      if (read < PIECE_BYTES) break;
    }
  }
  yield Buffer.from(after);
}

/** Reads until the buffer is full or the file ends. */
async function filled(file: FileHandle, piece: Buffer): Promise<number> {
  let length = 0;
  while (length < piece.length) {
    const { bytesRead } = await file.read(piece, length, piece.length - length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

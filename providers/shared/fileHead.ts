import { type FileHandle, open } from 'node:fs/promises';

const HEAD_BYTES = 64;

export type FileCheck<ContentType> =
  | { ok: true; contentType: ContentType; sizeBytes: number }
  | { ok: false; detail: string };

/** Opens a file and reads its first bytes, by which its kind can be told. */
export async function inspectFile<T>(
  path: string,
  inspect: (head: Buffer, sizeBytes: number, file: FileHandle) => T | Promise<T>,
): Promise<T> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = Buffer.alloc(Math.min(HEAD_BYTES, size));
    if (size > 0) await file.read(head, 0, head.length, 0);
    return await inspect(head, size, file);
  } finally {
    await file.close();
  }
}

export function readHead(path: string): Promise<Buffer> {
  return inspectFile(path, (head) => head);
}

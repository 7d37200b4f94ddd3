/** Takes the bytes of an uploaded file as they come: a small one stays in memory, a larger one goes to disk. */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { UploadedFile } from '../route.ts';

/** Most recordings that are spoken to a program; each request that is being read holds at most this much. */
export const IN_MEMORY_BYTES = 256 * 1024;

export class Upload {
  sizeBytes = 0;
  readonly #createFolder: () => Promise<string>;
  readonly #name: string;
  readonly #hash = createHash('sha256');
  /** One piece from the start: a file that comes a byte at a time takes no more than another. */
  #start: Buffer | undefined = Buffer.allocUnsafe(IN_MEMORY_BYTES);
  #disk: { path: string; handle: FileHandle } | undefined;

  constructor(createFolder: () => Promise<string>, name = 'upload') {
    this.#createFolder = createFolder;
    this.#name = name;
  }

  /** Kept or on disk when it resolves; the caller's buffer is not kept. */
  async take(bytes: Buffer): Promise<void> {
    this.#hash.update(bytes);
    const heldBytes = this.sizeBytes;
    this.sizeBytes += bytes.length;
    if (this.#start && this.sizeBytes <= IN_MEMORY_BYTES) {
      bytes.copy(this.#start, heldBytes);
      return;
    }
    this.#disk ??= await this.#openFile();
    if (this.#start) await this.#disk.handle.writeFile(this.#start.subarray(0, heldBytes));
    this.#start = undefined;
    await this.#disk.handle.writeFile(bytes);
  }

  async #openFile() {
    const path = join(await this.#createFolder(), this.#name);
    return { path, handle: await open(path, 'wx', 0o600) };
  }

  /** To be asked once, when the last byte was taken. */
  finish(): Pick<UploadedFile, 'content' | 'sizeBytes' | 'sha256'> {
    const { sizeBytes } = this;
    const content = this.#disk
      ? { path: this.#disk.path }
      : { bytes: (this.#start ?? Buffer.alloc(0)).subarray(0, sizeBytes) };
    return { content, sizeBytes, sha256: this.#hash.digest('hex') };
  }

  /** Closing it again is no error. */
  async close(): Promise<void> {
    await this.#disk?.handle.close();
  }
}

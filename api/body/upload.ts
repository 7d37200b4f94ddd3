/** Takes the bytes of an uploaded file as they come: a small one stays in memory, a larger one goes to disk. */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { UploadedFile } from '../route.ts';

/** Most recordings that are spoken to a program; each request that is being read holds at most this much. */
export const IN_MEMORY_BYTES = 256 * 1024;

let line: Promise<unknown> = Promise.resolve();

/**
 * One piece of all uploads at a time, each in its turn: twenty that come as fast as they can would otherwise keep the event
 * loop and the disk to themselves, and whoever only asks for a route would wait for all of them.
 */
function inLine<T>(work: () => Promise<T>): Promise<T> {
  const turn = line.then(work);
  line = turn.catch(() => undefined);
  return turn;
}

export class Upload {
  sizeBytes = 0;
  readonly #createFolder: () => Promise<string>;
  readonly #name: string;
  readonly #hash = createHash('sha256');
  /** One piece from the start: a file that comes a byte at a time takes no more than another. */
  #piece: Buffer = Buffer.allocUnsafe(IN_MEMORY_BYTES);
  #gathered = 0;
  #disk: { path: string; handle: FileHandle } | undefined;

  constructor(createFolder: () => Promise<string>, name = 'upload') {
    this.#createFolder = createFolder;
    this.#name = name;
  }

  /** Gathered or on disk when it resolves; the caller's buffer is not kept. */
  async take(bytes: Buffer): Promise<void> {
    this.sizeBytes += bytes.length;
    for (let taken = 0; taken < bytes.length; ) {
      if (this.#gathered === this.#piece.length) await inLine(() => this.#write());
      const count = bytes.copy(this.#piece, this.#gathered, taken);
      this.#gathered += count;
      taken += count;
    }
  }

  async #write(): Promise<void> {
    const gathered = this.#piece.subarray(0, this.#gathered);
    this.#hash.update(gathered);
    this.#disk ??= await this.#openFile();
    await this.#disk.handle.writeFile(gathered);
    this.#gathered = 0;
  }

  async #openFile() {
    const path = join(await this.#createFolder(), this.#name);
    return { path, handle: await open(path, 'wx', 0o600) };
  }

  /** To be called once, when the last byte was taken. Of a file on disk, all is written then and the handle closed. */
  async finish(): Promise<Pick<UploadedFile, 'content' | 'sizeBytes' | 'sha256'>> {
    const { sizeBytes } = this;
    if (!this.#disk) {
      const bytes = this.#piece.subarray(0, this.#gathered);
      return { content: { bytes }, sizeBytes, sha256: this.#hash.update(bytes).digest('hex') };
    }
    if (this.#gathered > 0) await inLine(() => this.#write());
    this.#piece = Buffer.alloc(0);
    await this.close();
    return { content: { path: this.#disk.path }, sizeBytes, sha256: this.#hash.digest('hex') };
  }

  /** Closing it again is no error. */
  async close(): Promise<void> {
    await this.#disk?.handle.close();
  }
}

/** Receives an uploaded file: a small one stays in memory, a larger one goes to disk. */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReservedBytes } from '../../infra/byteBudget.ts';
import type { UploadedFile } from '../http/route.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import type { BodyReader } from './bodyReader.ts';

/** Holds most spoken recordings; each request holds at most this much (bench `jobs`). */
export const IN_MEMORY_BYTES = 256 * 1024;

export interface UploadOptions {
  bodyReader: Pick<BodyReader, 'inLine'>;
  createFolder(): Promise<string>;
  /** Accounts for bytes in memory. */
  reservedBytes: ReservedBytes;
  /** Accounts for bytes before they are written to disk. */
  noteSpooled(bytes: number): void;
}

export class Upload {
  sizeBytes = 0;
  readonly #options: UploadOptions;
  readonly #name: string;
  readonly #hash = createHash('sha256');
  #gathered: BodyBuffer;
  #disk: { path: string; handle: FileHandle } | undefined;

  constructor(options: UploadOptions, name = 'upload') {
    this.#options = options;
    this.#name = name;
    this.#gathered = new BodyBuffer({ maxBytes: IN_MEMORY_BYTES, reservedBytes: options.reservedBytes });
  }

  /** In memory or on disk when it resolves; the caller's buffer is not kept. */
  async take(bytes: Buffer): Promise<void> {
    this.sizeBytes += bytes.length;
    for (let taken = 0; taken < bytes.length; ) {
      if (this.#gathered.length === IN_MEMORY_BYTES) await this.#options.bodyReader.inLine(() => this.#write());
      const piece = bytes.subarray(taken, taken + IN_MEMORY_BYTES - this.#gathered.length);
      this.#gathered.append(piece);
      taken += piece.length;
    }
  }

  async #write(): Promise<void> {
    const gathered = this.#gathered.bytes();
    this.#options.noteSpooled(gathered.length);
    this.#hash.update(gathered);
    this.#disk ??= await this.#openFile();
    await this.#disk.handle.writeFile(gathered);
    this.#gathered.cut(0);
  }

  async #openFile() {
    const path = join(await this.#options.createFolder(), this.#name);
    return { path, handle: await open(path, 'wx', 0o600) };
  }

  /** Called once, after the last byte. A file on disk is then written and closed. */
  async finish(): Promise<Pick<UploadedFile, 'content' | 'sizeBytes' | 'sha256'>> {
    const { sizeBytes } = this;
    if (!this.#disk) {
      const bytes = this.#gathered.bytes();
      return { content: { bytes }, sizeBytes, sha256: this.#hash.update(bytes).digest('hex') };
    }
    if (this.#gathered.length > 0) await this.#options.bodyReader.inLine(() => this.#write());
    // The file may wait long for its handler: a file on disk needs no memory meanwhile.
    this.#gathered = new BodyBuffer({ maxBytes: 0, reservedBytes: this.#options.reservedBytes });
    await this.close();
    return { content: { path: this.#disk.path }, sizeBytes, sha256: this.#hash.digest('hex') };
  }

  /** Closing it twice is no error. */
  async close(): Promise<void> {
    await this.#disk?.handle.close();
  }
}

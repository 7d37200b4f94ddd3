/** Takes the bytes of an uploaded file as they come: a small one stays in memory, a larger one goes to disk. */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Holding } from '../../infra/byteBudget.ts';
import type { UploadedFile } from '../http/route.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import type { BodyReader } from './bodyReader.ts';

/** Most recordings that are spoken to a program; each request that is being read holds at most this much (bench `jobs`). */
export const IN_MEMORY_BYTES = 256 * 1024;

export interface UploadOptions {
  bodyReader: Pick<BodyReader, 'inLine'>;
  createFolder(): Promise<string>;
  /** Told of the bytes that are kept in memory. */
  holding: Holding;
  /** Told of the bytes that go to disk, before they do. */
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
    this.#gathered = new BodyBuffer({ maxBytes: IN_MEMORY_BYTES, holding: options.holding });
  }

  /** Gathered or on disk when it resolves; the caller's buffer is not kept. */
  async take(bytes: Buffer): Promise<void> {
    this.sizeBytes += bytes.length;
    for (let taken = 0; taken < bytes.length; ) {
      if (this.#gathered.length === IN_MEMORY_BYTES)
        await this.#options.bodyReader.inLine(() => this.#write());
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

  /** To be called once, when the last byte was taken. Of a file on disk, all is written then and the handle closed. */
  async finish(): Promise<Pick<UploadedFile, 'content' | 'sizeBytes' | 'sha256'>> {
    const { sizeBytes } = this;
    if (!this.#disk) {
      const bytes = this.#gathered.bytes();
      return { content: { bytes }, sizeBytes, sha256: this.#hash.update(bytes).digest('hex') };
    }
    if (this.#gathered.length > 0) await this.#options.bodyReader.inLine(() => this.#write());
    // The file may wait for its handler for long: what is on disk needs no memory meanwhile.
    this.#gathered = new BodyBuffer({ maxBytes: 0, holding: this.#options.holding });
    await this.close();
    return { content: { path: this.#disk.path }, sizeBytes, sha256: this.#hash.digest('hex') };
  }

  /** Closing it again is no error. */
  async close(): Promise<void> {
    await this.#disk?.handle.close();
  }
}

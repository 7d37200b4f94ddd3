/** A multipart body: text fields in memory, at most one file streamed to disk while it is measured and hashed. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { FareboxError } from '../../domain/errors.ts';
import type { UploadedFile } from '../route.ts';
import { bodyChunks } from './bodyStream.ts';
import { type MultipartEvent, MultipartParser } from './multipartParser.ts';
import type { PartHead } from './partHeaders.ts';

export interface MultipartOptions {
  boundary: string;
  maxFileBytes: number;
  /** A private folder for the file, asked for when there is one. Removing it is the caller's, whatever comes out of this. */
  createFolder(): Promise<string>;
}

export interface MultipartBody {
  fields: Record<string, string>;
  file: UploadedFile | undefined;
}

const UPLOAD_TIMEOUT_MS = 120_000;
const LARGEST_FIELD_BYTES = 16_384;
/** Fields, headers and boundaries together. */
const AROUND_THE_FILE_BYTES = 256 * 1024;

/** Throws `invalid_request` for what is malformed or surplus, `payload_too_large` when the file is. */
export async function readMultipart(
  request: IncomingMessage,
  options: MultipartOptions,
): Promise<MultipartBody> {
  const parser = new MultipartParser(options.boundary);
  const form = createForm(options);
  const limits = {
    maxBytes: options.maxFileBytes + AROUND_THE_FILE_BYTES,
    timeoutMs: UPLOAD_TIMEOUT_MS,
    tooLarge: () => fileTooLarge(options.maxFileBytes),
  };
  try {
    for await (const chunk of bodyChunks(request, limits)) {
      for (const event of parser.push(chunk)) await form.take(event);
    }
    if (!parser.finished) throw malformed('no final boundary');
    return form.body();
  } finally {
    await form.close();
  }
}

interface FilePart {
  path: string;
  handle: Awaited<ReturnType<typeof open>>;
  hash: ReturnType<typeof createHash>;
  head: PartHead;
  sizeBytes: number;
}

/** Takes the parser's events one after the other; each is on disk or in memory when `take` resolves. */
function createForm({ createFolder, maxFileBytes }: MultipartOptions) {
  const fields = new Map<string, string>();
  let field: { name: string; bytes: Buffer[]; sizeBytes: number } | undefined;
  let file: FilePart | undefined;
  let inFile = false;

  async function begin(head: PartHead): Promise<void> {
    if (head.name === 'file') {
      if (file) throw malformed('more than one file');
      const path = join(await createFolder(), 'upload');
      file = { path, handle: await open(path, 'wx', 0o600), hash: createHash('sha256'), head, sizeBytes: 0 };
      inFile = true;
      return;
    }
    if (head.filename !== undefined) throw malformed('a file may only be sent in the field "file"');
    if (fields.has(head.name)) throw malformed('a field was sent twice');
    field = { name: head.name, bytes: [], sizeBytes: 0 };
  }

  async function data(bytes: Buffer): Promise<void> {
    if (inFile && file) {
      file.sizeBytes += bytes.length;
      if (file.sizeBytes > maxFileBytes) throw fileTooLarge(maxFileBytes);
      file.hash.update(bytes);
      await file.handle.writeFile(bytes);
      return;
    }
    if (!field) return;
    field.sizeBytes += bytes.length;
    if (field.sizeBytes > LARGEST_FIELD_BYTES) throw malformed('a field is too long');
    // A copy: the parser's bytes are part of a chunk that must not be kept.
    field.bytes.push(Buffer.from(bytes));
  }

  function end(): void {
    if (field) fields.set(field.name, decode(Buffer.concat(field.bytes)));
    field = undefined;
    inFile = false;
  }

  return {
    async take(event: MultipartEvent): Promise<void> {
      if (event.kind === 'part') await begin(event.head);
      else if (event.kind === 'data') await data(event.bytes);
      else if (event.kind === 'end') end();
      else throw malformed(event.reason);
    },
    body(): MultipartBody {
      return { fields: Object.fromEntries(fields), file: file && toUploadedFile(file) };
    },
    close: async () => await file?.handle.close(),
  };
}

/** A file input in which nothing was chosen arrives as an empty part without a name. */
function toUploadedFile(file: FilePart): UploadedFile | undefined {
  if (file.sizeBytes === 0 && file.head.filename === '') return undefined;
  return {
    path: file.path,
    sizeBytes: file.sizeBytes,
    sha256: file.hash.digest('hex'),
    claimedContentType: file.head.contentType ?? 'application/octet-stream',
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformed('a field is not UTF-8 text');
  }
}

function malformed(reason: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message: `Invalid multipart request: ${reason}.` });
}

function fileTooLarge(maxFileBytes: number): FareboxError {
  const megabytes = Math.round(maxFileBytes / 1_048_576);
  return new FareboxError({
    code: 'payload_too_large',
    message: `File exceeds the maximum allowed size of ${megabytes} MB.`,
  });
}

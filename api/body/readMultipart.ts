/** Reads a multipart body: text fields, and files that are measured and hashed as they arrive. */

import type { IncomingMessage } from 'node:http';
import { MessageChannel } from 'node:worker_threads';
import { FareboxError } from '../../domain/errors.ts';
import type { ReservedBytes } from '../../infra/byteBudget.ts';
import type { FileParts, UploadedFile } from '../http/route.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import type { BodyReader } from './bodyReader.ts';
import { type MultipartEvent, MultipartParser } from './multipartParser.ts';
import type { PartHead } from './partHeaders.ts';
import { bodyTooLarge, fileTooLarge } from './tooLarge.ts';
import { Upload } from './upload.ts';

export interface MultipartOptions {
  bodyReader: BodyReader;
  boundary: string;
  maxFileBytes: number;
  /** Undefined: all fields are returned; otherwise only these. */
  knownFields?: readonly string[] | undefined;
  files: FileParts;
  /** Returns a private folder, called for the first large file. The caller removes it in any case. */
  createFolder(): Promise<string>;
  /** Accounts for bytes in memory. */
  reservedBytes: ReservedBytes;
  noteSpooled(bytes: number): void;
}

export interface MultipartBody {
  fields: Record<string, string>;
  /** In their order in the body. */
  files: UploadedFile[];
}

const UPLOAD_TIMEOUT_MS = 120_000;
const MAX_FIELD_BYTES = 16_384;
/** Size of fields, headers and boundaries together. */
const AROUND_THE_FILE_BYTES = 256 * 1024;

/** Throws `invalid_request` for malformed or surplus parts, `payload_too_large` for a file. */
export async function readMultipart(request: IncomingMessage, options: MultipartOptions): Promise<MultipartBody> {
  const parser = new MultipartParser(options.boundary);
  const form = createForm(options);
  const limits = {
    maxBytes: options.files.maxTotalBytes + AROUND_THE_FILE_BYTES,
    timeoutMs: UPLOAD_TIMEOUT_MS,
    tooLarge: () => (options.files.most === 1 ? fileTooLarge(options.maxFileBytes) : bodyTooLarge()),
  };
  try {
    for await (const chunk of options.bodyReader.chunks(request, limits)) {
      for (const event of parser.push(chunk)) await form.take(event);
      freeChunk(chunk);
    }
    if (!parser.finished) throw malformed('no final boundary');
    return form.body();
  } finally {
    await form.close();
  }
}

interface FilePart {
  upload: Upload;
  head: PartHead;
}

/** Handles the parser's events in order; each is in memory or on disk when `take` resolves. */
function createForm(options: MultipartOptions) {
  const { maxFileBytes, files: parts, knownFields, reservedBytes } = options;
  const { name, alsoNamed, most } = parts;
  const fields = new Map<string, string>();
  let field: { name: string; content: BodyBuffer } | undefined;
  const files: UploadedFile[] = [];
  let begun = 0;
  /** File that is being read. */
  let file: FilePart | undefined;

  function begin(head: PartHead): void {
    if (head.name === name || head.name === alsoNamed) {
      if (begun === most) throw malformed(most === 1 ? 'more than one file' : `more than ${most} files`);
      file = { upload: new Upload(options, `upload-${begun}`), head };
      begun += 1;
      return;
    }
    if (head.filename !== undefined) throw malformed(`a file may only be sent in the field "${name}"`);
    if (knownFields && !knownFields.includes(head.name)) return;
    if (fields.has(head.name)) throw malformed('a field was sent twice');
    field = { name: head.name, content: new BodyBuffer({ maxBytes: MAX_FIELD_BYTES, reservedBytes }) };
  }

  async function data(bytes: Buffer): Promise<void> {
    if (file) {
      if (file.upload.sizeBytes + bytes.length > maxFileBytes) throw fileTooLarge(maxFileBytes);
      await file.upload.take(bytes);
      return;
    }
    if (!field) return;
    if (field.content.length + bytes.length > MAX_FIELD_BYTES) throw malformed('a field is too long');
    field.content.append(bytes);
  }

  async function end(): Promise<void> {
    if (field) fields.set(field.name, decode(field.content.bytes()));
    const sent = file && (await toUploadedFile(file));
    if (sent) files.push(sent);
    field = undefined;
    file = undefined;
  }

  return {
    async take(event: MultipartEvent): Promise<void> {
      if (event.kind === 'part') begin(event.head);
      else if (event.kind === 'data') await data(event.bytes);
      else if (event.kind === 'end') await end();
      else throw malformed(event.reason);
    },
    body(): MultipartBody {
      return { fields: Object.fromEntries(fields), files };
    },
    close: async () => await file?.upload.close(),
  };
}

/** A file input without a chosen file arrives as an empty part without a name. */
async function toUploadedFile({ upload, head }: FilePart): Promise<UploadedFile | undefined> {
  if (upload.sizeBytes === 0 && head.filename === '') return undefined;
  return {
    ...(await upload.finish()),
    claimedContentType: head.contentType ?? 'application/octet-stream',
    claimedName: head.filename ?? '',
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

/** Smaller buffers are not worth it, and may share their memory with others. */
const MIN_FREED_BYTES = 16 * 1024;

/**
 * A buffer transferred to a closed port is freed; Node 20 has no other way to free a buffer (`transfer` comes with 22).
 */
const { port1: nowhere, port2: otherEnd } = new MessageChannel();
nowhere.close();
otherEnd.close();

/**
 * Frees the memory of a chunk at once (bench `memory`): the chunk is empty from then on. The garbage collector would do
 * it too, but external memory counts towards its limit: each 25 MB of twenty uploads would cost a full collection.
 */
export function freeChunk(chunk: Buffer): void {
  const { buffer } = chunk;
  const isItsOwn = chunk.length >= MIN_FREED_BYTES && buffer.byteLength === chunk.length;
  if (isItsOwn && buffer instanceof ArrayBuffer) nowhere.postMessage(undefined, [buffer]);
}

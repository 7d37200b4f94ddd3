/** Bodies that stream files, with the length known before the first byte: stores refuse uploads of unknown length. */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';

export interface MultipartFile {
  name: string;
  path: string;
  filename: string;
  contentType: string;
}

export interface MultipartParts {
  /** Several values: the field is sent several times. */
  fields: Record<string, string | readonly string[]>;
  files: MultipartFile[];
}

export interface BodyFile {
  path: string;
  contentType: string;
  /** In bytes; default: the whole file. `end` is exclusive. */
  range?: { start: number; end: number };
}

interface StreamedBody {
  contentType: string;
  sizeBytes: number;
  /** Undefined: the body is empty. */
  stream: Readable | undefined;
}

export async function fileBody({ path, contentType, range }: BodyFile): Promise<StreamedBody> {
  const { start, end } = range ?? { start: 0, end: (await stat(path)).size };
  // A stream always sends the byte at `end`, so an empty range has none.
  const stream = end > start ? createReadStream(path, { start, end: end - 1 }) : undefined;
  return { contentType, sizeBytes: end - start, stream };
}

export async function multipartBody(parts: MultipartParts): Promise<StreamedBody> {
  const boundary = `farebox-${randomBytes(18).toString('hex')}`;
  const fields = Object.entries(parts.fields).flatMap(([name, values]) =>
    [values]
      .flat()
      .map((value) =>
        Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`),
      ),
  );
  const files = await Promise.all(parts.files.map((file) => framedFile(file, boundary)));
  const end = Buffer.from(`--${boundary}--\r\n`);
  const sizeBytes =
    [...fields, end].reduce((sum, part) => sum + part.length, 0) +
    files.reduce((sum, file) => sum + file.head.length + file.sizeBytes + 2, 0);
  const stream = Readable.from(chunks(fields, files, end), { objectMode: false });
  return { contentType: `multipart/form-data; boundary=${boundary}`, sizeBytes, stream };
}

interface FramedFile {
  head: Buffer;
  path: string;
  sizeBytes: number;
}

async function framedFile(file: MultipartFile, boundary: string): Promise<FramedFile> {
  const disposition = `form-data; name="${quoted(file.name)}"; filename="${quoted(file.filename)}"`;
  const head = `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${file.contentType}\r\n\r\n`;
  const { size } = await stat(file.path);
  return { head: Buffer.from(head), path: file.path, sizeBytes: size };
}

async function* chunks(fields: Buffer[], files: FramedFile[], end: Buffer): AsyncGenerator<Buffer> {
  yield* fields;
  for (const file of files) {
    yield file.head;
    yield* createReadStream(file.path);
    yield Buffer.from('\r\n');
  }
  yield end;
}

/** Escapes a name as browsers do: a quote or a line end must not end the header. */
function quoted(name: string): string {
  return name.replace(/"/g, '%22').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
}

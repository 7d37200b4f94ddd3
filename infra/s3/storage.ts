/** The bucket with uploads and outputs. Every call has a deadline and a bounded number of attempts. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { addAbortSignal, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { createReadingHandler } from '../http/objectReader.ts';

export interface StorageOptions {
  endpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Longest wait from a request to the first byte of its answer, and between two bytes. */
  timeoutMs?: number;
}

interface ByteRange {
  /** First and last byte, both inclusive. */
  start: number;
  end: number;
}

export interface StoredObject {
  key: string;
  sizeBytes: number;
  modifiedAt: Date;
}

interface StoredPage {
  objects: StoredObject[];
  next: string | undefined;
  /** Time of the answer by the store's clock, with which alone the age of an object is computed. */
  at: Date;
}

interface PutOptions {
  contentType: string;
  /** Lower-case hex: the store refuses other content. */
  sha256?: string;
}

interface GetFileOptions {
  path: string;
  /** Lower-case hex: other content is an error. */
  sha256?: string | undefined;
  signal: AbortSignal;
}

export interface Storage {
  /** Puts a file. Each attempt opens the body anew: a partly sent stream cannot be continued. */
  putFile(key: string, path: string, options: PutOptions & { sizeBytes: number }): Promise<void>;
  putBytes(key: string, bytes: Buffer, options: PutOptions): Promise<void>;
  /** Writes an object into a new file; false when there is none. */
  getFile(key: string, options: GetFileOptions): Promise<boolean>;
  /** Streams an object, or a part of it; undefined when there is none. */
  get(key: string, range?: ByteRange): Promise<Readable | undefined>;
  sizeOf(key: string): Promise<number | undefined>;
  /** Removes an object; succeeds when it does not exist. */
  remove(key: string): Promise<void>;
  /** One page of objects below a prefix, at most 1,000, with the token of the next page. */
  list(prefix: string, continuation?: string): Promise<StoredPage>;
  createBucket(): Promise<void>;
  /** Resolves when the bucket answers. */
  ready(): Promise<void>;
  close(): void;
}

const ATTEMPTS = 3;
const CONNECT_MS = 5_000;
const MAX_CONNECTIONS = 256;
/** Up to this size a body is sent in one piece, without a chunked trailer: half the work of a stream. */
const IN_ONE_PIECE_BYTES = 1024 * 1024;

interface Bucket {
  client: S3Client;
  /** For objects that are streamed. */
  reader: S3Client;
  bucket: string;
}

export function openStorage(options: StorageOptions): Storage {
  const timeoutMs = options.timeoutMs ?? 15_000;
  const common = clientOptions(options);
  const client = new S3Client({
    ...common,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      httpAgent: { maxSockets: MAX_CONNECTIONS },
      httpsAgent: { maxSockets: MAX_CONNECTIONS },
    },
  });
  const limits = { connectMs: CONNECT_MS, silenceMs: timeoutMs, mostConnections: MAX_CONNECTIONS };
  const reader = new S3Client({ ...common, requestHandler: createReadingHandler(limits) });
  client.middlewareStack.add(
    (next) => async (request) => {
      const answer = await next(request);
      const { headers } = answer.response as { headers?: Record<string, string> };
      // The SDK drops the `Date` header.
      if (answer.output) Object.assign(answer.output.$metadata, { date: headers?.date });
      return answer;
    },
    { step: 'deserialize', priority: 'high', name: 'noteDate' },
  );
  const place = { client, reader, bucket: options.bucket };
  return {
    putFile: (key, path, about) => attempt(() => putFile(place, key, { path, ...about }), mayPassBy),
    putBytes: (key, bytes, about) =>
      attempt(() => put(place, key, { ...about, body: bytes, sizeBytes: bytes.length }), isFolderRace),
    getFile: (key, wanted) => getFile(place, key, wanted),
    get: (key, range) => get(place, key, range),
    async sizeOf(key) {
      const answer = await orMissing(client.send(new HeadObjectCommand({ Bucket: place.bucket, Key: key })));
      return answer?.ContentLength;
    },
    async remove(key) {
      await orMissing(client.send(new DeleteObjectCommand({ Bucket: place.bucket, Key: key })));
    },
    list: (prefix, continuation) => list(place, prefix, continuation),
    createBucket: () => createBucket(place),
    async ready() {
      await client.send(new HeadBucketCommand({ Bucket: place.bucket }));
    },
    close() {
      client.destroy();
      reader.destroy();
    },
  };
}

function clientOptions({ endpoint, region, accessKeyId, secretAccessKey }: StorageOptions) {
  return {
    endpoint,
    region,
    forcePathStyle: true,
    maxAttempts: ATTEMPTS,
    // Uploads carry their SHA-256; the SDK's own CRC costs a quarter of a call (bench `jobs`).
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The middleware is built once per command type: none may be added to a single command.
    cacheMiddleware: true,
    credentials: { accessKeyId, secretAccessKey },
  } as const;
}

async function putFile(
  place: Bucket,
  key: string,
  { path, ...about }: PutOptions & { path: string; sizeBytes: number },
): Promise<void> {
  const body = about.sizeBytes <= IN_ONE_PIECE_BYTES ? await readFile(path) : createReadStream(path);
  await put(place, key, { ...about, body });
}

async function put(
  { client, bucket }: Bucket,
  key: string,
  about: PutOptions & { body: Buffer | Readable; sizeBytes: number },
): Promise<void> {
  const { body, sizeBytes, contentType, sha256 } = about;
  await client.send(
    new PutObjectCommand({
      Bucket: bucket,
      Key: key,
      Body: body,
      ContentLength: sizeBytes,
      ContentType: contentType,
      ...(sha256 === undefined ? {} : { ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64') }),
    }),
  );
}

async function getFile(
  { client, bucket }: Bucket,
  key: string,
  { path, sha256, signal }: GetFileOptions,
): Promise<boolean> {
  const command = new GetObjectCommand({ Bucket: bucket, Key: key });
  const answer = await orMissing(client.send(command, { abortSignal: signal }));
  if (!(answer?.Body instanceof Readable)) return false;
  const hash = createHash('sha256');
  if ((answer.ContentLength ?? Number.POSITIVE_INFINITY) <= IN_ONE_PIECE_BYTES) {
    const bytes = await buffer(addAbortSignal(signal, answer.Body));
    hash.update(bytes);
    await writeFile(path, bytes, { signal });
  } else {
    answer.Body.on('data', (bytes: Buffer) => hash.update(bytes));
    await pipeline(answer.Body, createWriteStream(path), { signal });
  }
  if (sha256 !== undefined && hash.digest('hex') !== sha256) throw new Error(`${key} is not what was put there`);
  return true;
}

async function get({ reader, bucket }: Bucket, key: string, range?: ByteRange): Promise<Readable | undefined> {
  const part = range && `bytes=${range.start}-${range.end}`;
  const answer = await orMissing(
    reader.send(new GetObjectCommand({ Bucket: bucket, Key: key, ...(part ? { Range: part } : {}) })),
  );
  return answer?.Body instanceof Readable ? answer.Body : undefined;
}

async function list({ client, bucket }: Bucket, prefix: string, continuation?: string): Promise<StoredPage> {
  const command = new ListObjectsV2Command({
    Bucket: bucket,
    Prefix: prefix,
    ...(continuation ? { ContinuationToken: continuation } : {}),
  });
  const page = await client.send(command);
  const objects = (page.Contents ?? []).flatMap(({ Key, Size, LastModified }) =>
    Key && LastModified ? [{ key: Key, sizeBytes: Size ?? 0, modifiedAt: LastModified }] : [],
  );
  // The header has whole seconds: take the latest moment that it can mean.
  const at = new Date(Date.parse((page.$metadata as { date?: string }).date ?? '') + 999);
  if (Number.isNaN(at.getTime())) throw new Error('the S3 server does not say what time it is');
  return { objects, next: page.NextContinuationToken, at };
}

async function createBucket({ client, bucket }: Bucket): Promise<void> {
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
    if (error instanceof S3ServiceException && error.name.startsWith('BucketAlready')) return;
    throw error;
  });
}

/** The SDK cannot repeat a streamed body: puts of files are repeated here, puts of bytes for one cause only. */
async function attempt(work: () => Promise<void>, isTransient: (error: unknown) => boolean): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (tried >= ATTEMPTS || !isTransient(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tried));
    }
  }
}

function mayPassBy(error: unknown): boolean {
  const status = error instanceof S3ServiceException ? (error.$metadata.httpStatusCode ?? 500) : 500;
  return status >= 500 || isFolderRace(error);
}

/** A store on a file system removes empty folders; a concurrent put then fails with "the object is a folder". */
function isFolderRace(error: unknown): boolean {
  return error instanceof S3ServiceException && error.name === 'ExistingObjectIsDirectory';
}

async function orMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return undefined;
    throw error;
  }
}

/** Reads the body of a route, in the order: kind, size, form, model, schema. */
import type { IncomingMessage } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import type { ReservedBytes } from '../../infra/byteBudget.ts';
import type { Config } from '../../infra/config/config.ts';
import type { BodySpec, UploadedFile } from '../http/route.ts';
import { checkModel, validate } from '../http/validate.ts';
import { BodyBuffer } from './bodyBuffer.ts';
import type { BodyReader } from './bodyReader.ts';
import { bodyKind } from './contentType.ts';
import { type RawOptions, readJson } from './readJson.ts';
import { readMultipart } from './readMultipart.ts';
import { readSpooledJson } from './spooledJson.ts';
import { bodyTooLarge } from './tooLarge.ts';

export interface ReadBody {
  body: unknown;
  files: readonly UploadedFile[];
}

export interface BodyHooks {
  bodyReader: BodyReader;
  /** Returns a private folder for uploaded files, the same at each call. */
  createFolder(): Promise<string>;
  /** Receives the model of the body before the rest is checked. */
  noteModel(model: string): void;
  /** Accounts for bytes of the body in memory. */
  reservedBytes: ReservedBytes;
  /** Accounts for bytes before they are written to disk; throws when there are too many. */
  noteSpooled(bytes: number): void;
  config: Config;
}

export async function readBody(request: IncomingMessage, spec: BodySpec<unknown>, found: BodyHooks): Promise<ReadBody> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw wrongType("'Content-Encoding' is not supported");
  }
  const announced = bodyKind(request.headers['content-type']);
  if (spec.raw) {
    if (spec.raw.json && announced.kind !== 'json') throw wrongType(NOT_JSON);
    const { maxBytes } = spec.raw;
    const { bodyReader, reservedBytes } = found;
    return { body: await readRaw(request, { bodyReader, maxBytes, reservedBytes }), files: NO_FILES };
  }
  if (announced.kind === 'json' && spec.json) {
    const sent = await readSent(request, spec.json, found);
    const body = spec.json.rewrite ? spec.json.rewrite(sent, found.config) : sent;
    return { body: check(spec, spec.json.schema, { body, found }), files: NO_FILES };
  }
  if (announced.kind === 'multipart' && spec.multipart) {
    if (announced.boundary === undefined) {
      throw new FareboxError({
        code: 'invalid_request',
        message: 'Invalid multipart request: no valid boundary in the Content-Type.',
      });
    }
    const { maxFileBytes, knownFields } = spec.multipart;
    const { files: parts = { ...ONE_FILE, maxTotalBytes: maxFileBytes } } = spec.multipart;
    const { bodyReader, createFolder, reservedBytes, noteSpooled } = found;
    const { fields, files } = await readMultipart(request, {
      ...{ boundary: announced.boundary, maxFileBytes, knownFields },
      files: parts,
      ...{ bodyReader, createFolder, reservedBytes, noteSpooled },
    });
    return { body: check(spec, spec.multipart.fields, { body: fields, found }), files };
  }
  if (spec.wrongKind !== undefined) throw wrongType(spec.wrongKind);
  throw wrongType(spec.json ? NOT_JSON : `'Content-Type' must be 'multipart/form-data'`);
}

const RAW_TIMEOUT_MS = 10_000;

/** Reads raw bytes, for signatures over them. Throws `body_too_large` and `unavailable`. */
export async function readRaw(
  request: IncomingMessage,
  { bodyReader, maxBytes, reservedBytes }: RawOptions,
): Promise<Buffer> {
  const body = new BodyBuffer({ maxBytes, reservedBytes });
  const limits = { maxBytes, timeoutMs: RAW_TIMEOUT_MS, tooLarge: bodyTooLarge };
  await bodyReader.take(request, limits, (chunk) => body.append(chunk));
  return body.bytes();
}

const NOT_JSON = `'Content-Type' must be 'application/json'`;
const NO_FILES: readonly UploadedFile[] = [];
const ONE_FILE = { name: 'file', most: 1 };

async function readSent(
  request: IncomingMessage,
  { maxBytes, spools }: NonNullable<BodySpec<unknown>['json']>,
  { bodyReader, createFolder, reservedBytes, noteSpooled }: BodyHooks,
): Promise<unknown> {
  if (!spools) return await readJson(request, { bodyReader, maxBytes, reservedBytes });
  return await readSpooledJson(request, {
    ...{ bodyReader, maxBytes, createFolder, reservedBytes, noteSpooled },
    ...spools,
  });
}

function check(
  spec: BodySpec<unknown>,
  schema: Parameters<typeof validate>[0],
  { body, found }: { body: unknown; found: BodyHooks },
): unknown {
  // Reported before the call is counted: the limits of the answering model count.
  const model = modelOf(body, spec.naming);
  if (model !== undefined) found.noteModel(model);
  if (spec.needsModel && !isUnnamed(spec, body)) checkModel(body);
  return validate(schema, body);
}

/** The schema sets the default model. */
function isUnnamed({ naming }: BodySpec<unknown>, body: unknown): boolean {
  if (naming?.otherwise === undefined || typeof body !== 'object' || body === null) return false;
  return naming.fields.every((field) => !Object.hasOwn(body, field));
}

function modelOf(body: unknown, naming: BodySpec<unknown>['naming']): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const members = body as Record<string, unknown>;
  const named = (naming?.fields ?? ['model']).map((field) => members[field]);
  return named.find((value) => typeof value === 'string') ?? naming?.otherwise;
}

function wrongType(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_content_type', message });
}

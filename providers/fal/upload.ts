/**
 * Puts a medium of an order into fal's storage, as fal's own client does: an upload is opened, which answers two addresses
 * (where to put the bytes, and under which the models read them), and large files go in parts. Nothing is ordered by it,
 * so whatever fails here leaves nothing to ask for later. Source: fal-ai/fal-js, libs/client/src/storage.ts.
 */
import { z } from 'zod';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import { createServiceHttp, isSuccess, type ServiceHttp, type WholeReply } from '../../infra/http/serviceHttp.ts';
import type { FailedOutcome, MediaFile } from '../shared/provider.ts';
import { parseJson } from '../shared/textFailures.ts';
import { outcomeOfError } from './errorReply.ts';

export interface Storage {
  /** The host that opens uploads, with the credential. */
  rest: ServiceHttp;
  /** Its address. */
  restUrl: string;
  allowPrivateNetwork: boolean | undefined;
  timeouts: Partial<ProviderTimeouts> | undefined;
  /** Longest an uploaded file is kept there. */
  keptSeconds: number;
}

/** What is told of a file that goes there. */
export type StoredMedium = Pick<MediaFile, 'role' | 'index' | 'path' | 'contentType' | 'sizeBytes'>;

export type UploadResult = { ok: true; url: string } | { ok: false; outcome: FailedOutcome };

/** From this size on in parts: the service's own client draws the line here. */
const PARTS_FROM_BYTES = 90 * 1024 * 1024;
const PART_BYTES = 10 * 1024 * 1024;

const opened = z.object({
  file_url: z.url({ protocol: /^https?$/ }),
  upload_url: z.url({ protocol: /^https?$/ }),
});
const part = z.object({ etag: z.string().min(1).max(1_000) });

interface Upload {
  /** Speaks to the host that the service named for the bytes, without the credential. */
  place: ServiceHttp;
  path: string;
  search: string;
  medium: StoredMedium;
  signal: AbortSignal;
}

/** Throws ServiceHttpError when the storage is not reached. */
export async function upload(storage: Storage, medium: StoredMedium, signal: AbortSignal): Promise<UploadResult> {
  const inParts = medium.sizeBytes > PARTS_FROM_BYTES;
  const reply = await storage.rest.request({
    method: 'POST',
    path: `/storage/upload/${inParts ? 'initiate-multipart' : 'initiate'}`,
    query: { storage_type: 'fal-cdn-v3' },
    headers: {
      'x-fal-object-lifecycle': JSON.stringify({ expiration_duration_seconds: storage.keptSeconds }),
    },
    json: { content_type: medium.contentType, file_name: fileName(medium) },
    signal,
  });
  if (!isSuccess(reply)) return { ok: false, outcome: notTaken(reply) };
  const places = opened.safeParse(parseJson(reply.body)).data;
  const address = places && new URL(places.upload_url);
  if (!places || !address || !mayGoTo(storage, address)) return unusable('the storage named no usable address');
  const place = createServiceHttp({
    baseUrl: address.origin,
    // Only the configured address may be on a private network, never one that an answer names.
    allowPrivateNetwork: isOwn(storage, address) && storage.allowPrivateNetwork,
    timeouts: storage.timeouts,
  });
  try {
    const failed = await put({ place, path: address.pathname, search: address.search, medium, signal }, inParts);
    return failed === undefined ? { ok: true, url: places.file_url } : failed;
  } finally {
    await place.close();
  }
}

async function put(upload: Upload, inParts: boolean): Promise<UploadResult | undefined> {
  if (inParts) return await putParts(upload);
  const { place, path, search, medium, signal } = upload;
  const { contentType } = medium;
  const reply = await place.request({
    method: 'PUT',
    path: `${path}${search}`,
    file: { path: medium.path, contentType },
    signal,
  });
  return isSuccess(reply) ? undefined : { ok: false, outcome: notTaken(reply) };
}

/** One after the other: the files are few, and the memory of a worker is shared by all its jobs. */
async function putParts({ place, path, search, medium, signal }: Upload): Promise<UploadResult | undefined> {
  const parts: { partNumber: number; etag: string }[] = [];
  for (let start = 0; start < medium.sizeBytes; start += PART_BYTES) {
    const partNumber = parts.length + 1;
    const range = { start, end: Math.min(start + PART_BYTES, medium.sizeBytes) };
    const file = { path: medium.path, contentType: medium.contentType, range };
    const reply = await place.request({
      method: 'PUT',
      path: `${path}/${partNumber}${search}`,
      file,
      signal,
    });
    if (!isSuccess(reply)) return { ok: false, outcome: notTaken(reply) };
    const etag = part.safeParse(parseJson(reply.body)).data?.etag;
    if (etag === undefined) return unusable('the storage named no part');
    parts.push({ partNumber, etag });
  }
  const json = { parts };
  const reply = await place.request({ method: 'POST', path: `${path}/complete${search}`, json, signal });
  return isSuccess(reply) ? undefined : { ok: false, outcome: notTaken(reply) };
}

function isOwn({ restUrl }: Storage, address: URL): boolean {
  return address.origin === new URL(restUrl).origin;
}

/** The clients' media go over no open wire, except where the operator configured one. */
function mayGoTo(storage: Storage, address: URL): boolean {
  if (address.username !== '' || address.password !== '') return false;
  return isOwn(storage, address) || (address.protocol === 'https:' && address.port === '');
}

/** The client has no part in this: what is wrong here is never its order. */
function notTaken(reply: WholeReply): FailedOutcome {
  const outcome = outcomeOfError(reply, 'submit');
  const detail = `storage: ${outcome.detail}`;
  if (outcome.status === 'busy') return { ...outcome, detail };
  if (outcome.status === 'refused' && outcome.reason === 'credential') return { ...outcome, detail };
  if (reply.status >= 500) return { status: 'busy', reason: 'overloaded', detail };
  return failed(detail);
}

function unusable(detail: string): UploadResult {
  return { ok: false, outcome: failed(detail) };
}

function failed(detail: string): FailedOutcome {
  return { status: 'refused', reason: 'failed', message: 'The media service failed.', detail };
}

/** Says nothing about the person's file; some models go by the ending. */
function fileName({ role, index, contentType }: StoredMedium): string {
  const ending = /^\w+\/(?:x-)?([a-z0-9]{1,10})$/.exec(contentType)?.[1] ?? 'bin';
  return `${role}-${index}.${ending}`;
}

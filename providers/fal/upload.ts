/**
 * Uploads a medium to fal's storage, as fal's own client does. Opening an upload returns one URL for sending the bytes
 * and one for reading them. Large files are sent in parts. Uploading orders nothing, so failures leave nothing to look
 * up. Source: fal-ai/fal-js, libs/client/src/storage.ts.
 */
import { z } from 'zod';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import { createServiceHttp, isSuccess, type ServiceHttp, type WholeReply } from '../../infra/http/serviceHttp.ts';
import type { FailedOutcome, MediaFile } from '../shared/provider.ts';
import { parseJson } from '../shared/textFailures.ts';
import { outcomeOfError } from './errorReply.ts';

export interface Storage {
  /** Host that opens uploads, with the credential. */
  rest: ServiceHttp;
  restUrl: string;
  allowPrivateNetwork: boolean | undefined;
  timeouts: Partial<ProviderTimeouts> | undefined;
  /** Time for which fal keeps an uploaded file. */
  keptSeconds: number;
}

/** Description of a file to upload. */
export type StoredMedium = Pick<MediaFile, 'role' | 'index' | 'path' | 'contentType' | 'sizeBytes'>;

export type UploadResult = { ok: true; url: string } | { ok: false; outcome: FailedOutcome };

/** Larger files go in parts. The service's own client has the same limit. */
const PARTS_FROM_BYTES = 90 * 1024 * 1024;
const PART_BYTES = 10 * 1024 * 1024;

const opened = z.object({
  file_url: z.url({ protocol: /^https?$/ }),
  upload_url: z.url({ protocol: /^https?$/ }),
});
const part = z.object({ etag: z.string().min(1).max(1_000) });

interface Upload {
  /** Host that the service named for the bytes; gets no credential. */
  place: ServiceHttp;
  path: string;
  search: string;
  medium: StoredMedium;
  signal: AbortSignal;
}

/** Throws ServiceHttpError if the storage cannot be reached. */
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
    // Only the configured address may be on a private network, never one from a reply.
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

/** Uploads parts in sequence: files are few, and a worker's memory is shared by all its jobs. */
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

/** Clients' media are sent unencrypted only to the host that the operator configured. */
function mayGoTo(storage: Storage, address: URL): boolean {
  if (address.username !== '' || address.password !== '') return false;
  return isOwn(storage, address) || (address.protocol === 'https:' && address.port === '');
}

/** Upload errors are never the client's fault. */
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

/** Hides the client's file name. Some models use the extension. */
function fileName({ role, index, contentType }: StoredMedium): string {
  const ending = /^\w+\/(?:x-)?([a-z0-9]{1,10})$/.exec(contentType)?.[1] ?? 'bin';
  return `${role}-${index}.${ending}`;
}

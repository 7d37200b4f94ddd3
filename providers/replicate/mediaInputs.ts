/**
 * Replaces an order's media by URLs: a data URL for a small file, an upload to the service for any other. The service
 * publishes the limits: 256 kB for data URLs, 100 MB for files. Uploads expire there. An upload orders nothing, so it
 * may be retried.
 */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { isSuccess, type ServiceHttp } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import type { CallContext, FailedOutcome, MediaFile } from '../shared/provider.ts';
import { parseJson } from '../shared/textFailures.ts';
import { outcomeOfSubmission } from './errorReply.ts';
import { failedOutcome } from './prediction.ts';

const MAX_DATA_URL_BYTES = 256 * 1024;
/** Limit per order, because the service repeats the input in every reply. */
const MAX_INLINE_BYTES = 2 * 1024 * 1024;
const MAX_UPLOAD_BYTES = 100 * 1024 * 1024;

const uploaded = z.object({ urls: z.object({ get: z.url({ protocol: /^https?$/ }).max(2_000) }) });

const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/x-wav': 'wav',
  'image/jpeg': 'jpg',
  'video/quicktime': 'mov',
  'video/x-matroska': 'mkv',
};

/** Description of a file to send. */
export type SentMedium = Pick<MediaFile, 'role' | 'path' | 'contentType' | 'sizeBytes'>;

/** A URL for every medium, or the outcome that ends the order. */
export type Addresses = { ok: true; of: ReadonlyMap<SentMedium, string> } | { ok: false; outcome: FailedOutcome };

export async function addressMedia(
  api: ServiceHttp,
  media: readonly SentMedium[],
  context: Pick<CallContext, 'signal'>,
): Promise<Addresses> {
  const tooLarge = media.find(({ sizeBytes }) => sizeBytes >= MAX_UPLOAD_BYTES);
  if (tooLarge) {
    const message = `The ${tooLarge.role} is too large for the model: at most 100 MB are taken.`;
    return { ok: false, outcome: { status: 'refused', reason: 'refused', message } };
  }
  const addresses = new Map<SentMedium, string>();
  let inlineBytes = 0;
  for (const medium of media) {
    const small = medium.sizeBytes <= MAX_DATA_URL_BYTES;
    if (small && inlineBytes + medium.sizeBytes <= MAX_INLINE_BYTES) {
      inlineBytes += medium.sizeBytes;
      addresses.set(medium, await dataUrl(medium));
      continue;
    }
    const answer = await upload(api, medium, context);
    if (typeof answer !== 'string') return { ok: false, outcome: answer };
    addresses.set(medium, answer);
  }
  return { ok: true, of: addresses };
}

/** Returns the input with files replaced by URLs, at any depth. */
export function withAddresses(input: unknown, addresses: ReadonlyMap<SentMedium, string>): unknown {
  if (typeof input !== 'object' || input === null) return input;
  const address = addresses.get(input as SentMedium);
  if (address !== undefined) return address;
  if (Array.isArray(input)) return input.map((each) => withAddresses(each, addresses));
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, withAddresses(value, addresses)]));
}

async function dataUrl({ path, contentType }: SentMedium): Promise<string> {
  return `data:${contentType};base64,${(await readFile(path)).toString('base64')}`;
}

async function upload(
  api: ServiceHttp,
  { path, contentType, role }: SentMedium,
  { signal }: Pick<CallContext, 'signal'>,
): Promise<string | FailedOutcome> {
  // Hides the client's file name. Some models use the extension.
  const filename = `${role}.${EXTENSIONS[contentType] ?? contentType.replace(/^.*\/|[^a-z0-9]/g, '')}`;
  const content = { name: 'content', path, filename, contentType };
  try {
    const reply = await api.request({
      method: 'POST',
      path: '/v1/files',
      multipart: { fields: {}, files: [content] },
      signal,
    });
    if (!isSuccess(reply)) return lostIsHarmless(outcomeOfSubmission(reply));
    const parsed = uploaded.safeParse(parseJson(reply.body));
    return parsed.success ? parsed.data.urls.get : failedOutcome('the upload was answered without an address');
  } catch (error) {
    if (!(error instanceof ServiceHttpError)) throw error;
    return { status: 'busy', reason: 'overloaded', detail: `the upload: ${error.message}` };
  }
}

function lostIsHarmless(outcome: FailedOutcome): FailedOutcome {
  if (outcome.status !== 'unknown') return outcome;
  return { status: 'busy', reason: 'overloaded', detail: `the upload: ${outcome.detail}` };
}

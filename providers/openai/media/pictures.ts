/** Reads image replies: base64, or URLs to fetch. */
import { join } from 'node:path';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { sniffImage } from '../../../engines/media/image/sniffImage.ts';
import type { GuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { createServiceHttp, type ServiceHttpOptions, type ServiceReply } from '../../../infra/http/serviceHttp.ts';
import { readHead } from '../../shared/audioFile.ts';
import { fetchOutput } from '../../shared/fetchOutput.ts';
import type { MadeImage, MediaCallContext } from '../../shared/mediaProvider.ts';
import { garbageFailure, isFields, parseJson } from '../../shared/textFailures.ts';
import { errorIn, failureOfError } from '../errorReply.ts';
import { PictureScanner, type ScannedPicture } from './pictureScanner.ts';

const TYPES: readonly (string | undefined)[] = ['image/png', 'image/jpeg', 'image/webp'];

export interface ExpectedPictures {
  count: number;
  context: MediaCallContext;
  fetchPicture: FetchPicture;
}

/** Returns exactly `count` images, or throws UpstreamFailure. */
export async function readPictures(reply: ServiceReply, awaited: ExpectedPictures): Promise<MadeImage[]> {
  const { count, context } = awaited;
  const scanner = new PictureScanner(count, (index) => join(context.workFolder, `made-${index}`));
  try {
    for (let piece = await reply.body.next(); piece !== undefined; piece = await reply.body.next()) {
      await scanner.take(piece);
    }
    const entries = entriesOf(parseJson(scanner.end()), reply.status);
    if (entries.length !== count) throw garbageFailure(`${entries.length} pictures for ${count}`);
    const made: MadeImage[] = [];
    for (const [index, entry] of entries.entries()) {
      made.push(await pictureOf(entry, { index, scanned: scanner.pictures, awaited }));
    }
    return made;
  } catch (error) {
    reply.body.abort();
    throw error;
  } finally {
    await scanner.close();
  }
}

function entriesOf(json: unknown, status: number): unknown[] {
  if (json === undefined) throw garbageFailure('the answer is no JSON', status);
  const error = errorIn(json);
  if (error !== undefined) throw failureOfError(error);
  if (!isFields(json) || !Array.isArray(json.data)) throw garbageFailure('no pictures', status);
  return json.data;
}

interface PicturePlace {
  index: number;
  scanned: readonly ScannedPicture[];
  awaited: ExpectedPictures;
}

async function pictureOf(entry: unknown, { index, scanned, awaited }: PicturePlace): Promise<MadeImage> {
  if (!isFields(entry)) throw garbageFailure('a picture of another shape');
  const { b64_json: base64, url } = entry;
  if (typeof base64 === 'string') {
    const picture = scanned[Number(base64)];
    if (picture === undefined) throw garbageFailure('a picture of another shape');
    return { path: picture.path, contentType: typeOf(picture.head) };
  }
  if (typeof url !== 'string') throw garbageFailure('a picture of another shape');
  const path = join(awaited.context.workFolder, `fetched-${index}`);
  await awaited.fetchPicture(url, { path, context: awaited.context });
  return { path, contentType: typeOf(await readHead(path)) };
}

/** Determined from the signature: the service's claim is not trusted. */
function typeOf(head: Buffer): string {
  const type = sniffImage(head);
  if (type === undefined || !TYPES.includes(type))
    throw garbageFailure(`${type ?? 'something else'} in place of a picture`);
  return type;
}

/** Fetches an image from a URL that a service sent in place of base64. */
export type FetchPicture = (url: string, target: { path: string; context: MediaCallContext }) => Promise<void>;

const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** The service's own host gets its credential. Any other goes through the guarded fetch, without one. */
export function createFetchPicture(options: ServiceHttpOptions, guardedFetch: GuardedFetch): FetchPicture {
  const http = createServiceHttp({ ...options, baseUrl: new URL(options.baseUrl).origin });
  const source = { http, baseUrl: options.baseUrl, guardedFetch };
  return async (url, { path, context }) => {
    const target = { path, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS };
    const fetched = await fetchOutput(source, url, { target, context });
    if (fetched.ok) return;
    const { outcome } = fetched;
    const refused = outcome.status === 'refused';
    const detail = refused || outcome.status === 'unknown' ? outcome.detail : undefined;
    throw new UpstreamFailure({
      reason: refused ? 'garbage' : 'lost',
      detail: detail ?? 'the picture was not fetched',
    });
  };
}

/** The answer of picture making: base64 in place, or addresses to fetch. */
import { join } from 'node:path';
import { sniffImage } from '../../../engines/media/image/sniffImage.ts';
import type { ServiceReply } from '../../../infra/http/serviceHttp.ts';
import { readHead } from '../../shared/fileHead.ts';
import type { MadeImage, MediaCallContext } from '../../shared/mediaProvider.ts';
import { garbage, isFields, parseJson } from '../../shared/textFailures.ts';
import { errorIn, failureOfError } from '../errorReply.ts';
import type { FetchPicture } from './fetchPicture.ts';
import { PictureScanner, type ScannedPicture } from './pictureScanner.ts';

const TYPES: readonly (string | undefined)[] = ['image/png', 'image/jpeg', 'image/webp'];

export interface Awaited {
  count: number;
  context: MediaCallContext;
  fetchPicture: FetchPicture;
}

/** Exactly as many as were ordered, or an UpstreamFailure. */
export async function readPictures(reply: ServiceReply, awaited: Awaited): Promise<MadeImage[]> {
  const { count, context } = awaited;
  const scanner = new PictureScanner(count, (index) => join(context.workFolder, `made-${index}`));
  try {
    for (let piece = await reply.body.next(); piece !== undefined; piece = await reply.body.next()) {
      await scanner.take(piece);
    }
    const entries = entriesOf(parseJson(scanner.end()), reply.status);
    if (entries.length !== count) throw garbage(`${entries.length} pictures for ${count}`);
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
  if (json === undefined) throw garbage('the answer is no JSON', status);
  const error = errorIn(json);
  if (error !== undefined) throw failureOfError(error);
  if (!isFields(json) || !Array.isArray(json.data)) throw garbage('no pictures', status);
  return json.data;
}

interface Place {
  index: number;
  scanned: readonly ScannedPicture[];
  awaited: Awaited;
}

async function pictureOf(entry: unknown, { index, scanned, awaited }: Place): Promise<MadeImage> {
  if (!isFields(entry)) throw garbage('a picture of another shape');
  const { b64_json: base64, url } = entry;
  if (typeof base64 === 'string') {
    const picture = scanned[Number(base64)];
    if (picture === undefined) throw garbage('a picture of another shape');
    return { path: picture.path, contentType: typeOf(picture.head) };
  }
  if (typeof url !== 'string') throw garbage('a picture of another shape');
  const path = join(awaited.context.workFolder, `fetched-${index}`);
  await awaited.fetchPicture(url, { path, context: awaited.context });
  return { path, contentType: typeOf(await readHead(path)) };
}

/** By its signature: what the service says about it is not believed. */
function typeOf(head: Buffer): string {
  const type = sniffImage(head);
  if (type === undefined || !TYPES.includes(type))
    throw garbage(`${type ?? 'something else'} in place of a picture`);
  return type;
}

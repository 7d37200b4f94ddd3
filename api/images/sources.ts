/** Writes the pictures of a request into its work folder: uploads, base64, data URLs, addresses. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FareboxError } from '../../domain/errors.ts';
import { SOURCE_BYTES, SOURCE_PIXELS } from '../../domain/images/images.ts';
import { lookAtImage } from '../../engines/images/lookAtImage.ts';
import type { RequestShare } from '../../infra/accountShares.ts';
import type { ImageFile } from '../../providers/shared/mediaProvider.ts';
import { Base64Decoder } from '../body/base64.ts';
import { SpooledText } from '../body/spooledText.ts';
import { fileTooLarge } from '../body/tooLarge.ts';
import type { Dependencies } from '../dependencies.ts';
import { dataUrlHead } from '../http/dataUrl.ts';
import { invalid } from '../http/invalid.ts';
import type { UploadedFile } from '../http/route.ts';

export interface SentImage {
  /** Field name, for errors. */
  field: string;
  source: string | SpooledText | UploadedFile;
}

export interface ImageReadOptions {
  folder: string;
  /** Pixels, both bounds inclusive. */
  bounds: { least: number; most: number };
  signal: AbortSignal;
  share: RequestShare;
}

export const ANY_SIZE = { least: 1, most: SOURCE_PIXELS.most };

type SourceDependencies = Pick<Dependencies, 'providers'>;

const FETCH_TIMEOUT_MS = 30_000;
const NO_PICTURE = 'Must be a base64 string, a data URL or an http(s) URL of an image';

/**
 * Reads all concurrently. The first error ends the others and is reported. Throws FareboxError `invalid_request`,
 * `invalid_media` or `payload_too_large`.
 */
export async function takeImages(
  tools: SourceDependencies,
  sent: readonly SentImage[],
  { folder, bounds, signal, share }: ImageReadOptions,
): Promise<ImageFile[]> {
  const giveUp = new AbortController();
  const either = AbortSignal.any([signal, giveUp.signal]);
  const taking = sent.map(async (image, index) => {
    try {
      const path = await toFile(tools, image, {
        path: join(folder, `source-${index}`),
        signal: either,
        share,
      });
      const { least: minPixels, most: maxPixels } = bounds;
      const { field } = image;
      const look = { path, field, minPixels, maxPixels, maxBytes: SOURCE_BYTES, signal: either };
      return await share.inSlot('inspections', () => lookAtImage(look), either);
    } catch (error) {
      giveUp.abort(error);
      throw error;
    }
  });
  const taken = await Promise.allSettled(taking);
  if (giveUp.signal.aborted) throw giveUp.signal.reason;
  return taken.map((outcome) => (outcome as PromiseFulfilledResult<ImageFile>).value);
}

interface FileTarget {
  path: string;
  signal: AbortSignal;
  share: RequestShare;
}

async function toFile(tools: SourceDependencies, { field, source }: SentImage, place: FileTarget): Promise<string> {
  if (source instanceof SpooledText) {
    if (!source.file) throw invalid(field, NO_PICTURE);
    return await fromUpload(source.file, place);
  }
  if (typeof source !== 'string') return await fromUpload(source, place);
  if (/^https?:/i.test(source)) return await fromAddress(tools, { field, url: source }, place);
  const head = dataUrlHead(source.slice(0, 512));
  const decoder = new Base64Decoder();
  const start = typeof head === 'object' ? head.length : 0;
  const bytes = Buffer.concat([decoder.push(source.slice(start)), decoder.finish()]);
  if (head === 'malformed' || decoder.isMalformed || bytes.length === 0) throw invalid(field, NO_PICTURE);
  await writeFile(place.path, bytes, { mode: 0o600 });
  return place.path;
}

async function fromUpload({ content, sizeBytes }: UploadedFile, { path }: FileTarget): Promise<string> {
  if (sizeBytes >= SOURCE_BYTES) throw fileTooLarge(SOURCE_BYTES);
  if ('path' in content) return content.path;
  await writeFile(path, content.bytes, { mode: 0o600 });
  return path;
}

async function fromAddress(
  { providers: { downloads } }: SourceDependencies,
  { field, url }: { field: string; url: string },
  { path, signal, share }: FileTarget,
): Promise<string> {
  try {
    const limits = {
      ...{ maxBytes: SOURCE_BYTES - 1, timeoutMs: FETCH_TIMEOUT_MS, signal },
      noteBytes: share.take,
    };
    await downloads.download(url, { path, ...limits });
    return path;
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    if (error.code === 'payload_too_large') throw fileTooLarge(SOURCE_BYTES);
    if (error.code !== 'invalid_source') throw error;
    throw new FareboxError({
      code: 'invalid_request',
      message: 'Invalid request parameters',
      fields: { [field]: ['The image could not be fetched'] },
      ...(error.internal === undefined ? {} : { internal: error.internal }),
      cause: error,
    });
  }
}

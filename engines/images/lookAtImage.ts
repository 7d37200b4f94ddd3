/**
 * Checks a client's image by its signature, header and parts, in the inspection child. Nothing is decoded, so an image
 * that would unpack to gigabytes costs no more than any other. Inspections do not wait behind image tasks.
 */
import { stat } from 'node:fs/promises';
import { IMAGE_READINGS } from '../media/image/imageReadings.ts';
import type { ImageSize } from '../media/image/imageSize.ts';
import type { ImageInspection, OtherFile } from '../media/inspectImage.ts';
import { inspector as shared } from '../media/inspector.ts';
import type { ImageFacts } from './imageFacts.ts';
import { OVER_LIMITS } from './imageRefusal.ts';
import { imageFault, throwImagesBusy } from './imageWork.ts';

export interface LookRequest {
  path: string;
  /** Field of the request. The refusal begins with it. */
  field: string;
  /** Width times height, inclusive. */
  minPixels: number;
  maxPixels: number;
  /** Exclusive. */
  maxBytes: number;
  signal?: AbortSignal | undefined;
}

/** Exif orientations from this value on swap width and height. */
const FIRST_ON_SIDE = 5;
const MB = 1024 * 1024;

/** Rejects with FareboxError `invalid_media`, `payload_too_large` or `unavailable`. Names the field and the bound. */
export async function lookAtImage(request: LookRequest, inspector = shared): Promise<ImageFacts> {
  const { path, field, maxBytes, signal } = request;
  const { size: bytes } = await stat(path);
  if (bytes === 0) throw imageFault('is empty', { field });
  if (bytes >= maxBytes) {
    const fault = `has ${bytes} bytes; an image must be smaller than ${maxBytes / MB} MB`;
    throw imageFault(fault, { field, code: 'payload_too_large' });
  }
  const inspection = await inspector.inspect('image', path).catch(throwImagesBusy);
  signal?.throwIfAborted();
  if (inspection === undefined) throw imageFault(OVER_LIMITS, { field });
  if (inspection.type === undefined) throw imageFault(foreignFault(inspection), { field });
  const { type, structure } = inspection;
  const size = structure.orientation < FIRST_ON_SIDE ? inspection.size : onSide(inspection.size);
  const fault = structureFault(inspection) ?? sizeFault(size, request);
  if (fault !== undefined || size === undefined) throw imageFault(fault ?? DAMAGED, { field });
  return { path, contentType: type, ...size, bytes };
}

const DAMAGED = 'is damaged: its header tells no size';

function foreignFault({ name }: OtherFile): string {
  const kinds = Object.values(IMAGE_READINGS).map((kind) => kind.name);
  const accepted = `accepted are ${kinds.slice(0, -1).join(', ')} and ${kinds.at(-1)}`;
  if (name === undefined) return `is not an image; ${accepted}`;
  return `is a file of the type ${name}, which is not accepted; ${accepted}`;
}

function structureFault({ structure, size }: ImageInspection): string | undefined {
  if (structure.cut) return 'is truncated';
  if (structure.foreign) return 'is not only an image; save it as a plain one';
  if (structure.animated) return 'is animated; send a single picture';
  return size === undefined ? DAMAGED : undefined;
}

function sizeFault(size: ImageSize | undefined, { minPixels, maxPixels }: LookRequest): string | undefined {
  if (size === undefined) return DAMAGED;
  const { width, height } = size;
  if (width * height >= minPixels && width * height <= maxPixels) return undefined;
  return `has ${width} × ${height} pixels; width times height must be between ${minPixels} and ${maxPixels}`;
}

function onSide(size: ImageSize | undefined): ImageSize | undefined {
  return size && { width: size.height, height: size.width };
}

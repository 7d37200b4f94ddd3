/**
 * Detects the type by signature, checks the size in the header before any decoding, then decodes the first image under
 * limits (PARSE-4). Refuses images that would unpack to gigabytes, vector graphics, two files in one, and truncated
 * files.
 */
import { stat } from 'node:fs/promises';
import { ffmpeg } from './ffmpeg.ts';
import { IMAGE_READINGS, type ImageReading } from './image/imageReadings.ts';
import type { ImageSize } from './image/imageSize.ts';
import type { ImageInspection } from './inspectImage.ts';
import { inspector } from './inspector.ts';
import type { MediaTools } from './mediaTools.ts';
import { invalidMedia, type MediaRefusal, refuseSize } from './refusal.ts';

export interface ImageRequest {
  path: string;
  maxBytes: number;
  /** Width times height, inclusive. */
  minPixels: number;
  maxPixels: number;
  signal?: AbortSignal | undefined;
}

interface MeasuredImage {
  contentType: string;
  /** Demuxer that read the file, as ffmpeg names it. */
  demuxer: string;
  /** In pixels, after rotation by Exif orientation. */
  width: number;
  height: number;
}

export type ImageOutcome = { ok: true; image: MeasuredImage } | MediaRefusal;

/** The largest and slowest image takes a second or two, and a few times that on a busy machine. */
const TIMEOUT_MS = 20_000;
/** Exif orientations from this value on swap width and height. */
const FIRST_ON_SIDE = 5;

/** Rejects only on abort or when the tools do not work. */
export async function measureImage(tools: MediaTools, request: ImageRequest): Promise<ImageOutcome> {
  const { size } = await stat(request.path);
  const unfit = refuseSize('The image', size, request.maxBytes);
  if (unfit) return unfit;
  const inspection = await inspector.inspect('image', request.path);
  request.signal?.throwIfAborted();
  if (inspection?.type === undefined) return notAccepted();
  const refused = refuseHeader(inspection, request);
  if (refused) return refused;
  const reading = IMAGE_READINGS[inspection.type];
  const decoded = await decode(tools, request, reading);
  request.signal?.throwIfAborted();
  const fine = decoded.end === 'finished' && decoded.pictures === 1 && decoded.failedPackets === 0;
  if (!fine || decoded.broken) return invalidMedia('The image could not be decoded.');
  const outside = refusePixels(decoded, request);
  if (outside) return outside;
  const { width, height } = shown(decoded, inspection.structure.orientation);
  return { ok: true, image: { contentType: inspection.type, demuxer: reading.demuxer, width, height } };
}

function refuseHeader({ type, size, structure }: ImageInspection, request: ImageRequest) {
  if (structure.cut) return invalidMedia('The image is truncated.');
  if (structure.foreign) return invalidMedia('The file is not only an image; save it as a plain one.');
  // Most services reject animations except GIF, and decoders differ in how they extract one image from them.
  if (structure.animated && type !== 'image/gif') return invalidMedia('The image is animated.');
  return size === undefined ? invalidMedia('The image is damaged.') : refusePixels(size, request);
}

function refusePixels({ width, height }: ImageSize, { minPixels, maxPixels }: ImageRequest) {
  const pixels = width * height;
  if (pixels >= minPixels && pixels <= maxPixels) return undefined;
  const bounds = `between ${minPixels} and ${maxPixels} pixels`;
  return invalidMedia(`The image has ${width} × ${height} pixels; width times height must be ${bounds}.`);
}

function decode(tools: MediaTools, request: ImageRequest, { demuxer, decoders }: ImageReading) {
  return ffmpeg.decodePictures({
    ...{ ffmpegPath: tools.ffmpegPath, path: request.path, demuxer, decoders, demuxerOptions: [] },
    ...{ maxPixels: request.maxPixels, maxPictures: 1, maxSeconds: Number.MAX_SAFE_INTEGER },
    ...{ timeoutMs: TIMEOUT_MS, signal: request.signal },
  });
}

function shown({ width, height }: ImageSize, orientation: number): ImageSize {
  return orientation < FIRST_ON_SIDE ? { width, height } : { width: height, height: width };
}

function notAccepted(): MediaRefusal {
  const names = Object.values(IMAGE_READINGS).map(({ name }) => name);
  return invalidMedia(`The image format is not accepted. Accepted formats: ${names.join(', ')}.`);
}

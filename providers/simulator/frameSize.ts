/** The size of a simulated picture, by what was ordered and handed in. */
import { even } from '../local/video/frames.ts';
import { type PixelSize, ratioOf } from '../shared/imageSizes.ts';
import type { MediaFile, VideoRequest } from '../shared/provider.ts';

const DEFAULT_LINES = 480;
const DEFAULT_RATIO = 16 / 9;

/** An upscaler's is its source's times the factor; others have the ordered lines on the short side. */
export function frameSize(request: VideoRequest): PixelSize {
  const { upscale, resolution, aspectRatio, media } = request;
  const source = media.find(({ role }) => role === 'video');
  const seen = source ?? media.find(({ width, height }) => width !== undefined && height !== undefined);
  const lines = linesOf(resolution);
  if (source && isSized(source) && (upscale !== undefined || lines === undefined)) {
    const factor = upscale?.factor ?? 1;
    return { width: even(source.width * factor), height: even(source.height * factor) };
  }
  const ratio = ratioOf(aspectRatio) ?? (seen && isSized(seen) ? seen.width / seen.height : DEFAULT_RATIO);
  const short = lines ?? DEFAULT_LINES;
  return ratio >= 1
    ? { width: even(short * ratio), height: even(short) }
    : { width: even(short), height: even(short / ratio) };
}

function isSized(medium: MediaFile): medium is MediaFile & PixelSize {
  return (medium.width ?? 0) > 0 && (medium.height ?? 0) > 0;
}

/** `720p`, `768P`, `true_1080p`, `2K`, `4k`; undefined for words that name no size. */
function linesOf(resolution = ''): number | undefined {
  const lines = /(\d{3,4})p$/i.exec(resolution)?.[1];
  if (lines !== undefined) return Number(lines);
  return { '2k': 1_440, '4k': 2_160 }[resolution.toLowerCase()];
}

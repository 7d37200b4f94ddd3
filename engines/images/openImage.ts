/**
 * Runs in the image child only: the only place that opens images with libvips, with its process-wide settings. One
 * thread, so that the number of children equals the number of busy cores. No cache from one client's file to the next.
 * No loaders except those of accepted types, whatever a file claims to be.
 */
import sharp, { type Metadata, type Sharp } from 'sharp';
import { ImageRefusal, OVER_LIMITS } from './imageRefusal.ts';

sharp.concurrency(1);
sharp.cache(false);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((loader) => `VipsForeignLoad${loader}`),
});

/** Opens the first image of a path or buffer. Fails if it has more than `maxPixels`. */
export function openImage(source: string | Buffer, maxPixels: number): Sharp {
  return sharp(source, {
    limitInputPixels: maxPixels,
    failOn: 'error',
    sequentialRead: true,
    unlimited: false,
    animated: false,
  });
}

/** Header as the decoder reads it, with the size before rotation. Throws ImageRefusal. */
export async function readHead(source: string | Buffer, maxPixels: number): Promise<Metadata> {
  const head = await decoding(() => openImage(source, maxPixels).metadata());
  if ((head.pages ?? 1) > 1) throw new ImageRefusal('is animated');
  return head;
}

/** Decodes everything to the last row and discards it. Throws ImageRefusal. */
export async function decodeWhole(source: string | Buffer, { width, height }: Metadata): Promise<void> {
  const lastRow = { left: 0, top: height - 1, width, height: 1 };
  await decoding(() =>
    openImage(source, width * height)
      .extract(lastRow)
      .raw()
      .toBuffer(),
  );
}

/** Turns library errors into ImageRefusal, because within checked bounds the file is at fault. */
export async function decoding<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const wantsMemory = cause instanceof Error && /memory/i.test(cause.message);
    throw new ImageRefusal(wantsMemory ? OVER_LIMITS : UNDECODABLE, { cause });
  }
}

const UNDECODABLE = 'could not be decoded; it is damaged or incomplete';

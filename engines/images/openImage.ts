/**
 * Runs in the image child only: the one way to open a picture with libvips, and what holds for all of its process. One
 * thread, so that the number of children is the number of cores at work; nothing kept from one client's file to the next;
 * and no loader but those of the kinds that are taken, whatever a file pretends to be.
 */
import sharp, { type Metadata, type Sharp } from 'sharp';
import { ImageRefusal, OVER_LIMITS } from './imageRefusal.ts';

sharp.concurrency(1);
sharp.cache(false);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((loader) => `VipsForeignLoad${loader}`),
});

/** The first and only picture of a path or of bytes; one that would unpack to more pixels is not opened. */
export function openImage(source: string | Buffer, maxPixels: number): Sharp {
  return sharp(source, {
    limitInputPixels: maxPixels,
    failOn: 'error',
    sequentialRead: true,
    unlimited: false,
    animated: false,
  });
}

/** What the decoder finds in the head of the file; its size is that before rotation. Throws ImageRefusal. */
export async function readHead(source: string | Buffer, maxPixels: number): Promise<Metadata> {
  const head = await decoding(() => openImage(source, maxPixels).metadata());
  if ((head.pages ?? 1) > 1) throw new ImageRefusal('is animated');
  return head;
}

/** Decodes all of it to its last row and keeps none of it. Throws ImageRefusal. */
export async function decodeWhole(source: string | Buffer, { width, height }: Metadata): Promise<void> {
  const lastRow = { left: 0, top: height - 1, width, height: 1 };
  await decoding(() =>
    openImage(source, width * height)
      .extract(lastRow)
      .raw()
      .toBuffer(),
  );
}

/** Once its bounds are known to be kept, whatever the library has to say of a picture is the picture's fault. */
export async function decoding<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const wantsMemory = cause instanceof Error && /memory/i.test(cause.message);
    throw new ImageRefusal(wantsMemory ? OVER_LIMITS : UNDECODABLE, { cause });
  }
}

const UNDECODABLE = 'could not be decoded; it is damaged or incomplete';

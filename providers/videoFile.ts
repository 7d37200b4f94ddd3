/** Is this file a video at all? A look at the first bytes, cheap enough to do before any output is stored. */
import { open } from 'node:fs/promises';

export type VideoContentType = 'video/mp4' | 'video/quicktime' | 'video/webm' | 'video/x-matroska';

export type VideoCheck =
  | { ok: true; contentType: VideoContentType; sizeBytes: number }
  | { ok: false; detail: string };

const HEAD_BYTES = 64;
/** Boxes with which a QuickTime file without `ftyp` begins. */
const QUICKTIME_BOXES = new Set(['moov', 'mdat', 'wide', 'free', 'skip', 'pnot']);
/** Brands of MP4 files that hold sound only. */
const AUDIO_BRANDS = new Set(['M4A ', 'M4B ', 'M4P ']);

/**
 * Tells the container by its signature, never by what anybody says about it. Not a video container or empty: not ok. It
 * reads 64 bytes and parses nothing that could be made to hang.
 */
export async function checkVideoFile(path: string): Promise<VideoCheck> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size === 0) return { ok: false, detail: 'the output is empty' };
    const head = Buffer.alloc(Math.min(HEAD_BYTES, size));
    await file.read(head, 0, head.length, 0);
    const contentType = videoContentType(head);
    if (contentType === undefined) return { ok: false, detail: 'the output is not a video' };
    return { ok: true, contentType, sizeBytes: size };
  } finally {
    await file.close();
  }
}

/** The type that the first bytes of a file show; undefined when they are of no video container. */
export function videoContentType(head: Buffer): VideoContentType | undefined {
  const ascii = head.toString('latin1');
  if (ascii.startsWith('ftyp', 4)) return ofBrand(ascii.slice(8, 12));
  if (QUICKTIME_BOXES.has(ascii.slice(4, 8))) return 'video/quicktime';
  if (head.length < 4 || head.readUInt32BE(0) !== 0x1a45dfa3) return undefined;
  if (ascii.includes('webm')) return 'video/webm';
  return ascii.includes('matroska') ? 'video/x-matroska' : undefined;
}

function ofBrand(brand: string): VideoContentType | undefined {
  if (AUDIO_BRANDS.has(brand)) return undefined;
  return brand === 'qt  ' ? 'video/quicktime' : 'video/mp4';
}

/** What is often taken for a picture that we take: its name, so that the refusal can say it. */
import { sniffImage } from './sniffImage.ts';

/** The first bytes, as Latin-1. */
const STARTS: readonly (readonly [string, string])[] = [
  ...(['II*\0', 'MM\0*', 'II+\0', 'MM\0+'] as const).map((start) => [start, 'TIFF'] as const),
  ['BM', 'BMP'],
  ['\0\0\x01\0', 'ICO'],
  ['%PDF', 'PDF'],
  ['8BPS', 'PSD'],
  ['\xff\x0a', 'JPEG XL'],
  ['\0\0\0\x0cJXL ', 'JPEG XL'],
  ['\xff\x4f\xff\x51', 'JPEG 2000'],
  ['\0\0\0\x0cjP  ', 'JPEG 2000'],
];
const NAMES: Readonly<Record<string, string>> = { 'image/heic': 'HEIC', 'image/heif': 'HEIF' };
/** A drawing may begin with a mark of its encoding, a declaration, comments and white space. */
const SVG = /^.{0,3}?\s*<(.*<)?svg[\s>]/is;
const HEAD_BYTES = 4096;
/** A text may begin with these two letters, but has no zeros where a bitmap has them. */
const BITMAP_RESERVED_AT = 6;

/** Undefined: it begins like no other kind of picture either. */
export function otherFormat(file: Buffer): string | undefined {
  const head = file.toString('latin1', 0, HEAD_BYTES);
  const name = STARTS.find(([start]) => head.startsWith(start))?.[1] ?? NAMES[sniffImage(file) ?? ''];
  if (name === 'BMP' && !head.startsWith('\0\0\0\0', BITMAP_RESERVED_AT)) return undefined;
  // UTF-16 has zeros between its letters.
  return name ?? (SVG.test(head.replaceAll('\0', '')) ? 'SVG' : undefined);
}

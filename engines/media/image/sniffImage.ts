/** Detects an image type by its signature only. Nothing is parsed. */

const BRANDS: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  avis: 'image/avif',
  heic: 'image/heic',
  heix: 'image/heic',
  heim: 'image/heic',
  heis: 'image/heic',
  hevc: 'image/heic',
  mif1: 'image/heif',
  msf1: 'image/heif',
};

export function sniffImage(bytes: Buffer): string | undefined {
  const words = (from: number, to: number) => bytes.toString('latin1', from, to);
  if (words(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png';
  if (words(0, 3) === '\xff\xd8\xff') return 'image/jpeg';
  if (words(0, 4) === 'RIFF' && words(8, 12) === 'WEBP') return 'image/webp';
  return words(4, 8) === 'ftyp' ? BRANDS[words(8, 12)] : undefined;
}

/** Signatures as Latin-1. */
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
/** A byte order mark, a declaration, comments and white space may precede the SVG element. */
const SVG = /^.{0,3}?\s*<(.*<)?svg[\s>]/is;
const HEAD_BYTES = 4096;
/** Text may begin with "BM" too, but lacks the zeros that a bitmap has here. */
const BITMAP_RESERVED_AT = 6;

/**
 * Name of a known image type that is not accepted, for the refusal. Undefined when the file begins like no known image.
 */
export function otherFormat(file: Buffer): string | undefined {
  const head = file.toString('latin1', 0, HEAD_BYTES);
  const name = STARTS.find(([start]) => head.startsWith(start))?.[1] ?? NAMES[sniffImage(file) ?? ''];
  if (name === 'BMP' && !head.startsWith('\0\0\0\0', BITMAP_RESERVED_AT)) return undefined;
  // Removes the zeros between UTF-16 letters.
  return name ?? (SVG.test(head.replaceAll('\0', '')) ? 'SVG' : undefined);
}

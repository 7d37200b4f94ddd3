/** Which kind of picture bytes begin like: a signature and no more; nothing is parsed here. */

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

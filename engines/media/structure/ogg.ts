import { type Structure, WHOLE } from './structure.ts';

const CAPTURE = Buffer.from('OggS');
const HEADER_BYTES = 27;
const FIRST_PAGE_FLAG = 0x02;

/** Walks the pages, also those of chained streams, which must all be of one codec. */
export function walkOgg(file: Buffer): Structure {
  const codecs = new Set<string>();
  let position = 0;
  while (position < file.length) {
    if (file.compare(CAPTURE, 0, 4, position, position + 4) !== 0) {
      const next = file.indexOf(CAPTURE, position);
      if (next < 0) break;
      position = next;
    }
    const page = pageAt(file, position);
    if (page === undefined) return { cut: true };
    if (page.first) codecs.add(codecOf(file.subarray(page.bodyStart, page.end)));
    position = page.end;
  }
  return codecs.size > 1 ? { cut: false, foreign: true } : WHOLE;
}

function pageAt(file: Buffer, start: number): { bodyStart: number; end: number; first: boolean } | undefined {
  if (start + HEADER_BYTES > file.length) return undefined;
  const bodyStart = start + HEADER_BYTES + file.readUInt8(start + 26);
  if (bodyStart > file.length) return undefined;
  const sizes = file.subarray(start + HEADER_BYTES, bodyStart);
  const end = sizes.reduce((sum, size) => sum + size, bodyStart);
  return end > file.length
    ? undefined
    : { bodyStart, end, first: (file.readUInt8(start + 5) & FIRST_PAGE_FLAG) !== 0 };
}

/** The first packet of every Ogg codec starts with its name; seven bytes tell them all apart. */
function codecOf(packet: Buffer): string {
  return packet.toString('latin1', 0, 7);
}

/** Result of a walk over all units of a container: pages, boxes, chunks or frames. */
export interface Structure {
  /** The file ends inside a unit of known size, so a part of the recording is missing. */
  cut: boolean;
  /** A length field contradicts the rest of the file and is ignored: the file is read to its end. */
  falseLength?: boolean;
  /** Mostly other data, or a chain of different codecs that no decoder reads to its end. */
  foreign?: boolean;
  /** Total length of the units, if they contain it. For display, never for billing. */
  seconds?: number;
  /** Number of tracks by kind, for MP4. For WAV only present when there are none. */
  tracks?: { audio: number; video: number };
}

export const WHOLE: Structure = { cut: false };

/** Walks the ADTS frames of an AAC file. */
export function walkAdts(file: Buffer): Structure {
  let position = 0;
  while (position + 7 <= file.length) {
    if ((file.readUInt16BE(position) & 0xfff6) !== 0xfff0) break;
    const end = position + frameBytes(file, position);
    if (end <= position) break;
    if (end > file.length) return { cut: true };
    position = end;
  }
  return WHOLE;
}

/** 13 bits within bytes 3 to 5. */
function frameBytes(file: Buffer, position: number): number {
  return (file.readUIntBE(position + 3, 3) >>> 5) & 0x1fff;
}

const CHUNK_ID = /^[\x20-\x7e]{4}$/;

/** Walks the chunks of an AIFF or AIFF-C file. */
export function walkAiff(file: Buffer): Structure {
  let position = 12;
  while (position + 8 <= file.length) {
    if (!CHUNK_ID.test(file.toString('latin1', position, position + 4))) break;
    const size = file.readUInt32BE(position + 4);
    const end = position + 8 + size;
    if (end > file.length) return { cut: true };
    position = end + (size % 2);
  }
  return WHOLE;
}

const FLAC_STREAM_INFO_END = 42;

/** FLAC frames have no size, so the decoder detects truncation. The length comes from the first block. */
export function walkFlac(file: Buffer): Structure {
  if (file.length < FLAC_STREAM_INFO_END || file.toString('latin1', 0, 4) !== 'fLaC') return WHOLE;
  const rate = file.readUIntBE(18, 3) >>> 4;
  const samples = (file.readUInt8(21) & 0x0f) * 2 ** 32 + file.readUInt32BE(22);
  return rate > 0 && samples > 0 ? { cut: false, seconds: samples / rate } : WHOLE;
}

const BOX_TYPE = /^[\x20-\x7e\xa9]{4}$/;

/** Walks the top-level boxes of an MP4. */
export function walkMp4(file: Buffer): Structure {
  let position = 0;
  while (position + 8 <= file.length) {
    const type = file.toString('latin1', position + 4, position + 8);
    if (!BOX_TYPE.test(type)) break;
    const size = boxSize(file, position);
    if (size === 0) break;
    if (size < 8 || position + size > file.length) return { cut: true };
    position += size;
  }
  return WHOLE;
}

/** Zero means that the box extends to the end of the file. */
function boxSize(file: Buffer, position: number): number {
  const size = file.readUInt32BE(position);
  if (size !== 1) return size;
  return position + 16 <= file.length ? Number(file.readBigUInt64BE(position + 8)) : Number.POSITIVE_INFINITY;
}

const OGG_CAPTURE = Buffer.from('OggS');
const OGG_HEADER_BYTES = 27;
const FIRST_PAGE_FLAG = 0x02;

/** Walks the pages of an Ogg file, including chained streams, which must share one codec. */
export function walkOgg(file: Buffer): Structure {
  const codecs = new Set<string>();
  let position = 0;
  while (position < file.length) {
    if (file.compare(OGG_CAPTURE, 0, 4, position, position + 4) !== 0) {
      const next = file.indexOf(OGG_CAPTURE, position);
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
  if (start + OGG_HEADER_BYTES > file.length) return undefined;
  const bodyStart = start + OGG_HEADER_BYTES + file.readUInt8(start + 26);
  if (bodyStart > file.length) return undefined;
  const sizes = file.subarray(start + OGG_HEADER_BYTES, bodyStart);
  const end = sizes.reduce((sum, size) => sum + size, bodyStart);
  return end > file.length ? undefined : { bodyStart, end, first: (file.readUInt8(start + 5) & FIRST_PAGE_FLAG) !== 0 };
}

/** The first packet of every Ogg codec starts with its name. Seven bytes are enough to distinguish them. */
function codecOf(packet: Buffer): string {
  return packet.toString('latin1', 0, 7);
}

/** Segments and clusters contain the recording. All other elements are skipped. */
const EBML_PARENTS = [0x18538067, 0x1f43b675];

/** Walks the EBML elements of a WebM, into segments and clusters. Live recorders write these without a size. */
export function walkWebm(file: Buffer): Structure {
  let position = 0;
  while (position < file.length) {
    const id = vint(file, position, { keepMarker: true });
    const size = id && vint(file, position + id.bytes, { keepMarker: false });
    if (id === undefined) break;
    if (size === undefined) return { cut: true };
    const start = position + id.bytes + size.bytes;
    const sizeKnown = size.value !== 2 ** (7 * size.bytes) - 1;
    if (sizeKnown && start + size.value > file.length) return { cut: true };
    if (!sizeKnown && !EBML_PARENTS.includes(id.value)) break;
    position = EBML_PARENTS.includes(id.value) ? start : start + size.value;
  }
  return WHOLE;
}

function vint(file: Buffer, position: number, options: { keepMarker: boolean }) {
  const first = file[position];
  if (first === undefined || first === 0) return undefined;
  const bytes = Math.clz32(first) - 23;
  if (position + bytes > file.length) return undefined;
  let value = options.keepMarker ? first : first & (0xff >> bytes);
  for (let index = 1; index < bytes; index += 1) value = value * 256 + (file[position + index] ?? 0);
  return { value, bytes };
}

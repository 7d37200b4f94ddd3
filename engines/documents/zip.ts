/**
 * Reads untrusted archives. Only requested parts are unpacked, piece by piece. Unpacked bytes are counted, because
 * declared sizes may be false (PARSE-5).
 */
import { crc32, createInflateRaw } from 'node:zlib';
import { MAX_ARCHIVE_ENTRIES, MAX_INFLATED_BYTES, UnreadableDocument } from './document.ts';

interface Entry {
  encrypted: boolean;
  method: number;
  crc: number;
  packedBytes: number;
  bytes: number;
  offset: number;
}

export interface Archive {
  has(name: string): boolean;
  names(): string[];
  /** Unpacked bytes of a part. Nothing when there is no such part. */
  read(name: string): AsyncGenerator<Buffer>;
}

const END_SIGNATURE = 0x06054b50;
const ENTRY_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;
const MAX_COMMENT_BYTES = 65_535;
const STORED = 0;
const DEFLATED = 8;

export function openArchive(file: Buffer): Archive {
  const entries = readDirectory(file);
  refuseOverlaps([...entries.values()]);
  let inflatedBytes = 0;

  async function* read(name: string): AsyncGenerator<Buffer> {
    const entry = entries.get(keyOf(name));
    if (entry === undefined) return;
    if (entry.encrypted) throw new UnreadableDocument('protected');
    let bytes = 0;
    let crc = 0;
    for await (const piece of unpack(file, entry)) {
      bytes += piece.length;
      inflatedBytes += piece.length;
      if (inflatedBytes > MAX_INFLATED_BYTES) throw new UnreadableDocument('too_large');
      if (bytes > entry.bytes) throw new UnreadableDocument('damaged', 'a part is larger than declared');
      crc = crc32(piece, crc);
      yield piece;
    }
    if (bytes !== entry.bytes || crc !== entry.crc) throw new UnreadableDocument('damaged', 'a checksum is wrong');
  }

  return { has: (name) => entries.has(keyOf(name)), names: () => [...entries.keys()], read };
}

/** Office programs differ in case and in the direction of slashes. */
function keyOf(name: string): string {
  return name.replaceAll('\\', '/').replace(/^\/+/, '').toLowerCase();
}

function readDirectory(file: Buffer): Map<string, Entry> {
  const end = findEnd(file);
  const count = file.readUInt16LE(end + 10);
  if (count > MAX_ARCHIVE_ENTRIES) throw new UnreadableDocument('too_large');
  let at = file.readUInt32LE(end + 16);
  const entries = new Map<string, Entry>();
  for (let index = 0; index < count; index += 1) {
    if (at + ENTRY_BYTES > end || file.readUInt32LE(at) !== ENTRY_SIGNATURE) {
      throw new UnreadableDocument('damaged', 'the directory of the archive is cut');
    }
    const nameEnd = at + ENTRY_BYTES + file.readUInt16LE(at + 28);
    entries.set(keyOf(file.toString('utf8', at + ENTRY_BYTES, nameEnd)), {
      encrypted: (file.readUInt16LE(at + 8) & 1) === 1,
      method: file.readUInt16LE(at + 10),
      crc: file.readUInt32LE(at + 16),
      packedBytes: file.readUInt32LE(at + 20),
      bytes: file.readUInt32LE(at + 24),
      offset: file.readUInt32LE(at + 42),
    });
    at = nameEnd + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  }
  return entries;
}

/** The end record is last in the file, before an optional comment. */
function findEnd(file: Buffer): number {
  const first = Math.max(0, file.length - END_BYTES - MAX_COMMENT_BYTES);
  for (let at = file.length - END_BYTES; at >= first; at -= 1) {
    if (file.readUInt32LE(at) === END_SIGNATURE) return at;
  }
  throw new UnreadableDocument('damaged', 'the archive has no end');
}

/** Overlapping parts can expand a small file to petabytes. No honest packer writes them. */
function refuseOverlaps(entries: Entry[]): void {
  let end = 0;
  for (const entry of entries.sort((left, right) => left.offset - right.offset)) {
    if (entry.offset < end) throw new UnreadableDocument('damaged', 'parts of the archive overlap');
    end = entry.offset + LOCAL_BYTES + entry.packedBytes;
  }
}

async function* unpack(file: Buffer, entry: Entry): AsyncGenerator<Buffer> {
  const { offset, packedBytes, method } = entry;
  if (offset + LOCAL_BYTES > file.length || file.readUInt32LE(offset) !== LOCAL_SIGNATURE) {
    throw new UnreadableDocument('damaged', 'a part is not where the directory says');
  }
  const start = offset + LOCAL_BYTES + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28);
  const packed = file.subarray(start, start + packedBytes);
  if (packed.length !== packedBytes) throw new UnreadableDocument('damaged', 'a part is cut');
  if (method === STORED) yield packed;
  else if (method === DEFLATED) yield* inflate(packed);
  else throw new UnreadableDocument('damaged', 'a part is packed in an unknown way');
}

async function* inflate(packed: Buffer): AsyncGenerator<Buffer> {
  const stream = createInflateRaw({ chunkSize: 256 * 1024 });
  stream.end(packed);
  const pieces = stream.iterator()[Symbol.asyncIterator]();
  try {
    for (;;) {
      const piece = await pieces.next().catch(() => {
        throw new UnreadableDocument('damaged', 'a part does not unpack');
      });
      if (piece.done) return;
      yield piece.value;
    }
  } finally {
    stream.destroy();
  }
}

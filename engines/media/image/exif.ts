/** Orientation in Exif data (TIFF 6.0, tag 274). 1, upright, when missing. */
export function orientationOf(exif: Buffer): number {
  const tiff = exif.toString('latin1', 0, 6) === 'Exif\0\0' ? exif.subarray(6) : exif;
  if (tiff.length < 8) return 1;
  const little = tiff.toString('latin1', 0, 2) === 'II';
  const short = (at: number) => (little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (directory + 2 > tiff.length) return 1;
  // Entries are sorted by tag and few have a lower one, so a search of thousands of entries is pointless.
  const count = Math.min(short(directory), MAX_ENTRIES, Math.floor((tiff.length - directory - 2) / ENTRY_BYTES));
  for (let entry = 0; entry < count; entry += 1) {
    const at = directory + 2 + entry * ENTRY_BYTES;
    if (short(at) === ORIENTATION) return within(short(at + 8));
  }
  return 1;
}

const ORIENTATION = 274;
const ENTRY_BYTES = 12;
const MAX_ENTRIES = 200;

function within(orientation: number): number {
  return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

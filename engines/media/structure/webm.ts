import { type Structure, WHOLE } from './structure.ts';

/** The two kinds of element that hold the recording; all others are stepped over. */
const OPENED = [0x18538067, 0x1f43b675];

/** Walks the EBML elements, into segments and clusters, which live recorders leave without a size. */
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
    if (!sizeKnown && !OPENED.includes(id.value)) break;
    position = OPENED.includes(id.value) ? start : start + size.value;
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

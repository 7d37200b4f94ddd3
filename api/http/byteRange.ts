/** Reads the `Range` header of RFC 9110 for one range of bytes; every other header is answered with the whole. */

export type RangeAnswer =
  | { kind: 'whole' }
  /** First and last byte, both inclusive. */
  | { kind: 'part'; start: number; end: number }
  | { kind: 'unsatisfiable' };

const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

export function parseRange(header: string | undefined, sizeBytes: number): RangeAnswer {
  const match = header === undefined ? null : ONE_RANGE.exec(header.trim());
  if (!match) return { kind: 'whole' };
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return { kind: 'whole' };
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? { kind: 'unsatisfiable' } : part(sizeBytes - length, sizeBytes - 1);
  }
  const start = Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (last !== '' && Number(last) < start) return { kind: 'whole' };
  return start >= sizeBytes ? { kind: 'unsatisfiable' } : part(start, end);
}

function part(start: number, end: number): RangeAnswer {
  return { kind: 'part', start, end };
}

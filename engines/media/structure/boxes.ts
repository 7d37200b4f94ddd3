/** Reads boxes of MP4, MOV and AVIF (ISO/IEC 14496-12), from a file or a piece of it. */
import type { FileWindow } from './fileWindow.ts';

export interface Box {
  type: string;
  bodyStart: number;
  /** Declared end of the box, which may be beyond the file. */
  end: number;
}

export interface TopBoxes {
  boxes: Box[];
  cut: boolean;
  foreign: boolean;
}

const BOX_TYPE = /^[\x20-\x7e\xa9]{4}$/;
const HEAD_BYTES = 16;
/** Live recordings of hours have a pair of boxes per second. */
const MAX_TOP_BOXES = 100_000;
/** Maximum children of one box. Tables with a row per sample have no child boxes. */
const MAX_CHILDREN = 10_000;

/** All top-level boxes. Together they must fill the file. */
export function topBoxes(file: FileWindow): TopBoxes {
  const boxes: Box[] = [];
  for (let at = 0; at < file.size; ) {
    const box = boxAt(file.bytes(at, HEAD_BYTES), { at: 0, start: at, end: file.size });
    if (box === undefined) return { boxes, cut: file.size - at < 8, foreign: file.size - at >= 8 };
    boxes.push(box);
    if (box.end > file.size) return { boxes, cut: true, foreign: false };
    if (boxes.length > MAX_TOP_BOXES) return { boxes, cut: false, foreign: true };
    at = box.end;
  }
  return { boxes, cut: false, foreign: false };
}

/** Types and bodies of the child boxes. A child beyond the end of the parent ends the list. */
export function childrenOf(body: Buffer): { type: string; body: Buffer }[] {
  const children: { type: string; body: Buffer }[] = [];
  for (let at = 0; at < body.length && children.length < MAX_CHILDREN; ) {
    const box = boxAt(body, { at, start: at, end: body.length });
    if (box === undefined || box.end > body.length) break;
    children.push({ type: box.type, body: body.subarray(box.bodyStart, box.end) });
    at = box.end;
  }
  return children;
}

export function child(body: Buffer, type: string): Buffer | undefined {
  return childrenOf(body).find((each) => each.type === type)?.body;
}

/** Follows a path of types inward. */
export function descendant(body: Buffer, types: readonly string[]): Buffer | undefined {
  let found: Buffer | undefined = body;
  for (const type of types) found = found && child(found, type);
  return found;
}

/** `at` is an offset in the bytes, `start` in the file, `end` the end of the parent. Undefined without a valid box. */
function boxAt(bytes: Buffer, place: { at: number; start: number; end: number }): Box | undefined {
  const { at, start, end } = place;
  if (at + 8 > bytes.length) return undefined;
  const type = bytes.toString('latin1', at + 4, at + 8);
  if (!BOX_TYPE.test(type)) return undefined;
  const size = bytes.readUInt32BE(at);
  // Zero: the box extends to the end of its parent.
  if (size === 0) return { type, bodyStart: start + 8, end };
  if (size !== 1) return size < 8 ? undefined : { type, bodyStart: start + 8, end: start + size };
  if (at + HEAD_BYTES > bytes.length) return undefined;
  const long = Number(bytes.readBigUInt64BE(at + 8));
  return long < HEAD_BYTES ? undefined : { type, bodyStart: start + HEAD_BYTES, end: start + long };
}

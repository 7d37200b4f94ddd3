import { orientationOf } from './exif.ts';
import { CUT, FOREIGN, type ImageStructure, isForeignTail, MAX_PARTS, UPRIGHT } from './imageStructure.ts';

const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
const APP1 = 0xe1;
/** Each scan covers the whole image again. Progressive encoders use ten. */
const MAX_SCANS = 100;

/** Maximum number of previews after the image. */
const MAX_PREVIEWS = 8;

/** Walks segments and scans to the end of the image. Phones append previews, which are images too. */
export function walkJpeg(file: Buffer): ImageStructure {
  const first = pictureAt(file, 0);
  let end = first.end;
  for (let picture = 0; end !== undefined && picture <= MAX_PREVIEWS; picture += 1) {
    const next = afterZeros(file, end);
    if (next + 3 > file.length || file.readUIntBE(next, 3) !== 0xffd8ff) {
      return { ...UPRIGHT, orientation: first.orientation, foreign: isForeignTail(file, next) };
    }
    end = pictureAt(file, next).end;
  }
  return first.cut ? CUT : FOREIGN;
}

interface JpegPicture {
  /** Undefined when no end was found. */
  end?: number;
  cut: boolean;
  orientation: number;
}

function pictureAt(file: Buffer, start: number): JpegPicture {
  let orientation = 1;
  let scans = 0;
  let at = start + 2;
  for (let part = 0; part < MAX_PARTS && scans <= MAX_SCANS; part += 1) {
    at = afterFill(file, at);
    if (at + 2 > file.length) return { cut: true, orientation };
    if (file[at] !== 0xff) break;
    const marker = file[at + 1] ?? 0;
    if (marker === END_OF_IMAGE) return { end: at + 2, cut: false, orientation };
    const end = segmentEnd(file, at);
    if (end > file.length) return { cut: true, orientation };
    if (marker === APP1) orientation = exifOf(file.subarray(at + 4, end)) ?? orientation;
    scans += marker === START_OF_SCAN ? 1 : 0;
    at = marker === START_OF_SCAN ? afterScan(file, end) : end;
  }
  return { cut: false, orientation };
}

/** Any number of FF bytes may precede a marker. */
function afterFill(file: Buffer, start: number): number {
  let at = start;
  while (file[at] === 0xff && file[at + 1] === 0xff) at += 1;
  return at;
}

function segmentEnd(file: Buffer, at: number): number {
  return at + 4 > file.length ? Number.POSITIVE_INFINITY : at + 2 + file.readUInt16BE(at + 2);
}

/** Undefined for other metadata. */
function exifOf(body: Buffer): number | undefined {
  return body.toString('latin1', 0, 4) === 'Exif' ? orientationOf(body) : undefined;
}

/** Position of the next marker. Within a scan, FF is followed by 0 or a restart marker. */
function afterScan(file: Buffer, start: number): number {
  for (let at = file.indexOf(0xff, start); at >= 0; at = file.indexOf(0xff, at + 1)) {
    const next = file[at + 1] ?? 0;
    const goesOn = next === 0 || next === 0xff || (next >= 0xd0 && next <= 0xd7);
    if (!goesOn) return at;
  }
  return file.length;
}

function afterZeros(file: Buffer, start: number): number {
  let at = start;
  while (file[at] === 0) at += 1;
  return at;
}

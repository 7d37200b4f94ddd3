/** What a walk over the chunks, segments or blocks of a picture says about it; nothing is unpacked. */
export interface ImageStructure {
  /** It ends before it should. */
  cut: boolean;
  /** Something else follows the picture, or it is made to keep a decoder busy. */
  foreign: boolean;
  /** Exif's orientation, 1 to 8: from 5 on, width and height change places. */
  orientation: number;
  /** More than one picture. */
  animated: boolean;
}

export const UPRIGHT: ImageStructure = { cut: false, foreign: false, orientation: 1, animated: false };
export const CUT: ImageStructure = { ...UPRIGHT, cut: true };
export const FOREIGN: ImageStructure = { ...UPRIGHT, foreign: true };

/** Of chunks, segments and blocks: no picture that somebody took or drew comes near it. */
export const MAX_PARTS = 1_000_000;

/** Bytes after the end that are taken for padding of a careless writer. */
const MAX_STRAY_BYTES = 512;
const OTHER_FILES = /<|PK|%PDF|#!|#EXT/;

/** Whether what stands after a picture's end makes it two files in one. */
export function isForeignTail(file: Buffer, end: number): boolean {
  const tail = file.subarray(end);
  return tail.length > MAX_STRAY_BYTES || OTHER_FILES.test(tail.toString('latin1'));
}

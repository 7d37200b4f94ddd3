/** Lines of text that fit into a frame: as large as it goes, wrapped at spaces, cut with an ellipsis at the smallest size. */

import type { FontWidths } from './fontWidths.ts';
import type { Size } from './frames.ts';

export interface Typeset {
  lines: readonly string[];
  /** Pixels. */
  fontSize: number;
  lineHeight: number;
}

/** Shares of the frame that text may fill. */
const WIDTH_SHARE = 0.84;
const HEIGHT_SHARE = 0.62;
const LARGEST = 0.105;
const SMALLEST = 0.045;
const LINE_HEIGHT = 1.32;
const MOST_LINES = 8;
const SIZE_STEP = 0.92;
/** Shaping may make a line of joined letters a little wider than the sum of its letters. */
const SHAPING_ROOM = 1.04;

export function typeset(text: string, size: Size, font: FontWidths): Typeset {
  // Of a narrow frame the width decides, of a wide one the height.
  const measure = Math.min(size.height, size.width * 0.75);
  let fontSize = measure * LARGEST;
  for (;;) {
    const lineHeight = fontSize * LINE_HEIGHT;
    const most = Math.max(1, Math.min(MOST_LINES, Math.floor((size.height * HEIGHT_SHARE) / lineHeight)));
    const width = (size.width * WIDTH_SHARE) / fontSize / SHAPING_ROOM;
    const smallest = fontSize * SIZE_STEP < measure * SMALLEST;
    const lines = wrap(text, { width, font, most: most + 1, breakWords: smallest });
    if (lines !== undefined && (lines.length <= most || smallest)) {
      const kept = lines.length <= most ? lines : shorten(lines.slice(0, most), { width, font });
      return { lines: kept, fontSize: Math.round(fontSize), lineHeight: Math.round(lineHeight) };
    }
    fontSize *= SIZE_STEP;
  }
}

interface Measure {
  width: number;
  font: FontWidths;
}

/** At most `most` lines; undefined when a single word is too wide and may not be broken. */
function wrap(
  text: string,
  { width, font, most, breakWords }: Measure & { most: number; breakWords: boolean },
): string[] | undefined {
  const fits = (line: string) => font.widthOf(line) <= width;
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').filter((part) => part !== '')) {
    if (lines.length >= most) return lines;
    const longer = line === '' ? word : `${line} ${word}`;
    if (fits(longer)) {
      line = longer;
      continue;
    }
    if (line !== '') lines.push(line);
    const pieces = fits(word) ? [word] : breakWords ? broken(word, fits, most) : undefined;
    if (pieces === undefined) return undefined;
    lines.push(...pieces.slice(0, -1));
    line = pieces.at(-1) ?? '';
  }
  if (line !== '') lines.push(line);
  return lines.slice(0, most);
}

function broken(word: string, fits: (line: string) => boolean, most: number): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const character of word) {
    if (piece !== '' && !fits(piece + character)) {
      pieces.push(piece);
      if (pieces.length >= most) return pieces;
      piece = '';
    }
    piece += character;
  }
  return [...pieces, piece];
}

function shorten(lines: readonly string[], { width, font }: Measure): string[] {
  let last = [...(lines.at(-1) ?? '')];
  while (last.length > 0 && font.widthOf(`${last.join('')}…`) > width) last = last.slice(0, -1);
  return [...lines.slice(0, -1), `${last.join('').trimEnd()}…`];
}

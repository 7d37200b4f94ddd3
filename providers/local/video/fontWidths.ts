/**
 * How wide a line of text is in the font that we ship, by its own tables (OpenType `cmap` 4 and 12, `hmtx`): what is typeset
 * never runs over the edge, and no font of the machine is asked for.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const FONT_PATH = fileURLToPath(new URL('./DejaVuSans.ttf', import.meta.url));

export interface FontWidths {
  /** Of the text at a font size of 1. */
  widthOf(text: string): number;
  /** Whether it has a glyph; others are shown as a box. */
  has(codePoint: number): boolean;
}

let shipped: FontWidths | undefined;

/** Those of the shipped font; read once. */
export function shippedFont(): FontWidths {
  shipped ??= readFontWidths(readFileSync(FONT_PATH));
  return shipped;
}

function readFontWidths(font: Buffer): FontWidths {
  const tables = tableOffsets(font);
  const at = (name: string) => {
    const offset = tables.get(name);
    if (offset === undefined) throw new Error(`the font has no table ${name}`);
    return offset;
  };
  const unitsPerEm = font.readUInt16BE(at('head') + 18);
  const measured = font.readUInt16BE(at('hhea') + 34);
  const hmtx = at('hmtx');
  const glyphs = glyphIndex(font, at('cmap'));
  const advance = (glyph: number) => font.readUInt16BE(hmtx + 4 * Math.min(glyph, measured - 1)) / unitsPerEm;
  return {
    widthOf(text) {
      let width = 0;
      for (const character of text) width += advance(glyphs(character.codePointAt(0) ?? 0));
      return width;
    },
    has: (codePoint) => glyphs(codePoint) !== 0,
  };
}

function tableOffsets(font: Buffer): Map<string, number> {
  const offsets = new Map<string, number>();
  for (let table = 0; table < font.readUInt16BE(4); table += 1) {
    const entry = 12 + 16 * table;
    offsets.set(font.toString('latin1', entry, entry + 4), font.readUInt32BE(entry + 8));
  }
  return offsets;
}

/** From code point to glyph; 0 where there is none. The widest table that we can read serves all. */
function glyphIndex(font: Buffer, cmap: number): (codePoint: number) => number {
  const subtables = Array.from({ length: font.readUInt16BE(cmap + 2) }, (_, index) => {
    return cmap + font.readUInt32BE(cmap + 4 + 8 * index + 4);
  });
  const wide = subtables.find((start) => font.readUInt16BE(start) === 12);
  if (wide !== undefined) return (codePoint) => inGroups(font, wide, codePoint);
  const plain = subtables.find((start) => font.readUInt16BE(start) === 4);
  if (plain === undefined) throw new Error('the font has no readable table of characters');
  return (codePoint) => inSegments(font, plain, codePoint);
}

function inGroups(font: Buffer, start: number, codePoint: number): number {
  const groups = font.readUInt32BE(start + 12);
  for (let group = 0; group < groups; group += 1) {
    const entry = start + 16 + 12 * group;
    if (codePoint > font.readUInt32BE(entry + 4)) continue;
    const first = font.readUInt32BE(entry);
    return codePoint < first ? 0 : font.readUInt32BE(entry + 8) + codePoint - first;
  }
  return 0;
}

function inSegments(font: Buffer, start: number, codePoint: number): number {
  if (codePoint > 0xffff) return 0;
  const twice = font.readUInt16BE(start + 6);
  for (let segment = 0; segment < twice; segment += 2) {
    if (codePoint > font.readUInt16BE(start + 14 + segment)) continue;
    const firsts = start + 16 + twice;
    const first = font.readUInt16BE(firsts + segment);
    if (codePoint < first) return 0;
    const delta = font.readUInt16BE(firsts + twice + segment);
    const rangeAt = firsts + 2 * twice + segment;
    const range = font.readUInt16BE(rangeAt);
    if (range === 0) return (codePoint + delta) & 0xffff;
    const glyph = font.readUInt16BE(rangeAt + range + 2 * (codePoint - first));
    return glyph === 0 ? 0 : (glyph + delta) & 0xffff;
  }
  return 0;
}

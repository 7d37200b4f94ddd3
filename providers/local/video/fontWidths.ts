/**
 * Text widths in the shipped font, from its own tables (OpenType `cmap` 12, `hmtx`). Titles then fit the frame without
 * fonts of the machine.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const FONT_PATH = fileURLToPath(new URL('./DejaVuSans.ttf', import.meta.url));

export interface FontWidths {
  /** Width at a font size of 1. */
  widthOf(text: string): number;
  /** Whether the font has a glyph; other characters appear as a box. */
  has(codePoint: number): boolean;
}

let shipped: FontWidths | undefined;

/** Widths of the shipped font, read once. */
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

/** Maps a code point to its glyph; 0 if there is none. The table of format 12 has all characters. */
function glyphIndex(font: Buffer, cmap: number): (codePoint: number) => number {
  const tables = Array.from({ length: font.readUInt16BE(cmap + 2) }, (_, index) => {
    return cmap + font.readUInt32BE(cmap + 4 + 8 * index + 4);
  });
  const start = tables.find((table) => font.readUInt16BE(table) === 12);
  if (start === undefined) throw new Error('the font has no readable table of characters');
  const groups = Array.from({ length: font.readUInt32BE(start + 12) }, (_, group) => {
    const entry = start + 16 + 12 * group;
    const [first, last] = [font.readUInt32BE(entry), font.readUInt32BE(entry + 4)];
    return { first, last, glyph: font.readUInt32BE(entry + 8) };
  });
  return (codePoint) => {
    const group = groups.find(({ last }) => codePoint <= last);
    return group === undefined || codePoint < group.first ? 0 : group.glyph + codePoint - group.first;
  };
}

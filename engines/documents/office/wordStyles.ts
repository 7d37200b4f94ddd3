/** Resolves the styles of a Word document: heading level and list of a paragraph. */
import { attributeOf, walkPart } from '../markup.ts';
import type { Archive } from '../zip.ts';

export interface ParagraphStyle {
  /** 1 to 9. 0 means no heading. */
  heading: number;
  list: string | undefined;
  level: number | undefined;
}

interface StyleEntry {
  name: string;
  basedOn?: string;
  outline?: number;
  list?: string;
  level?: number;
}

/** Ends cyclic chains of styles. */
const MAX_CHAIN = 20;

export async function readWordStyles(
  archive: Archive,
  part: string | undefined,
): Promise<(id: string) => ParagraphStyle> {
  const entries = new Map<string, StyleEntry>();
  if (part !== undefined) await readEntries(archive, part, entries);
  return (id) => resolve(entries, id);
}

async function readEntries(archive: Archive, part: string, entries: Map<string, StyleEntry>): Promise<void> {
  let style: StyleEntry = { name: '' };
  await walkPart(archive, part, {
    open(name, attributes) {
      const value = attributeOf(attributes, 'val') ?? '';
      if (name === 'style') {
        style = { name: '' };
        entries.set(attributeOf(attributes, 'styleId') ?? '', style);
      } else if (name === 'name') style.name = value;
      else if (name === 'basedOn') style.basedOn = value;
      else if (name === 'outlineLvl') style.outline = Number(value);
      else if (name === 'numId') style.list = value;
      else if (name === 'ilvl') style.level = Number(value);
    },
  });
}

function resolve(entries: Map<string, StyleEntry>, id: string): ParagraphStyle {
  const found: ParagraphStyle = { heading: 0, list: undefined, level: undefined };
  let style = entries.get(id);
  for (let link = 0; style !== undefined && link < MAX_CHAIN; link += 1) {
    found.heading ||= headingOf(style);
    found.list ??= style.list;
    found.level ??= style.level;
    style = style.basedOn === undefined ? undefined : entries.get(style.basedOn);
  }
  return found;
}

function headingOf({ name, outline }: StyleEntry): number {
  if (/^title$/i.test(name)) return 1;
  const numbered = /^heading ([1-9])$/i.exec(name)?.[1];
  if (numbered !== undefined) return Number(numbered);
  return outline !== undefined && outline < 9 ? outline + 1 : 0;
}

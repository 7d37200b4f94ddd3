/** Counts numbered paragraphs as Word does, because their numbers are not in the text. */
import { type Attributes, attributeOf, walkPart } from '../markup.ts';
import type { Archive } from '../zip.ts';

export interface WordLists {
  /** Label of the next paragraph of this list, such as `-` or `2.1.`. Undefined when it has none. */
  label(list: string, level: number): string | undefined;
  /** Level of the list that names this style. */
  levelOfStyle(list: string, style: string): number | undefined;
}

interface ListLevel {
  format: string;
  template: string;
  start: number;
  style?: string;
}

interface WordList {
  abstract: string;
  /** Levels that the list overrides. */
  levels: Map<number, ListLevel>;
  starts: Map<number, number>;
}

const MAX_LEVELS = 9;

export async function readWordLists(archive: Archive, part: string | undefined): Promise<WordLists> {
  const abstracts = new Map<string, Map<number, ListLevel>>();
  const lists = new Map<string, WordList>();
  if (part !== undefined) await readDefinitions(archive, part, { abstracts, lists });
  const counters = new Map<string, number[]>();

  function levelsOf(id: string): Map<number, ListLevel> {
    const list = lists.get(id);
    return new Map([...(abstracts.get(list?.abstract ?? '') ?? []), ...(list?.levels ?? [])]);
  }

  return {
    label(id, level) {
      const list = lists.get(id);
      const levels = levelsOf(id);
      const at = levels.get(level);
      if (list === undefined || at === undefined) return undefined;
      const key = list.starts.size > 0 ? `list ${id}` : list.abstract;
      const counts = counters.get(key) ?? [];
      counters.set(key, counts);
      const startOf = (index: number) => list.starts.get(index) ?? levels.get(index)?.start ?? 1;
      for (let upper = 0; upper < level; upper += 1) counts[upper] ??= startOf(upper);
      counts[level] = (counts[level] ?? startOf(level) - 1) + 1;
      counts.length = level + 1;
      return labelOf(levels, at, counts);
    },
    levelOfStyle(list, style) {
      const found = [...levelsOf(list)].find(([, level]) => level.style === style);
      return found?.[0];
    },
  };
}

interface Definitions {
  abstracts: Map<string, Map<number, ListLevel>>;
  lists: Map<string, WordList>;
}

async function readDefinitions(archive: Archive, part: string, definitions: Definitions): Promise<void> {
  let levels = new Map<number, ListLevel>();
  let level: ListLevel = { format: '', template: '', start: 1 };
  let list: WordList = { abstract: '', levels, starts: new Map() };
  let overridden = 0;
  const setters: Record<string, (attributes: Attributes, value: string) => void> = {
    abstractNum(attributes) {
      levels = new Map();
      definitions.abstracts.set(attributeOf(attributes, 'abstractNumId') ?? '', levels);
    },
    lvl(attributes) {
      level = { format: '', template: '', start: 1 };
      const index = levelOf(attributes);
      if (index >= 0 && index < MAX_LEVELS) levels.set(index, level);
    },
    numFmt: (_attributes, value) => {
      level.format = value;
    },
    lvlText: (_attributes, value) => {
      level.template = value;
    },
    start: (_attributes, value) => {
      level.start = Number(value) || 0;
    },
    pStyle: (_attributes, value) => {
      level.style = value;
    },
    num(attributes) {
      // A list's own levels must not change those of other lists.
      levels = new Map();
      list = { abstract: '', levels, starts: new Map() };
      definitions.lists.set(attributeOf(attributes, 'numId') ?? '', list);
    },
    abstractNumId: (_attributes, value) => {
      list.abstract = value;
    },
    lvlOverride: (attributes) => {
      overridden = levelOf(attributes);
    },
    startOverride: (_attributes, value) => {
      list.starts.set(overridden, Number(value) || 0);
    },
  };
  await walkPart(archive, part, {
    open(name, attributes) {
      if (Object.hasOwn(setters, name)) setters[name]?.(attributes, attributeOf(attributes, 'val') ?? '');
    },
  });
}

function levelOf(attributes: Attributes): number {
  return Number(attributeOf(attributes, 'ilvl') ?? 0);
}

function labelOf(
  levels: Map<number, ListLevel>,
  { format, template }: ListLevel,
  counts: number[],
): string | undefined {
  if (format === 'bullet') return '-';
  if (format === 'none') return undefined;
  return template.replace(/%([1-9])/g, (_all, digit: string) => {
    const index = Number(digit) - 1;
    return numeral(levels.get(index)?.format ?? 'decimal', counts[index] ?? 1);
  });
}

function numeral(format: string, count: number): string {
  if (format === 'lowerLetter') return letters(count);
  if (format === 'upperLetter') return letters(count).toUpperCase();
  if (format === 'lowerRoman') return roman(count);
  if (format === 'upperRoman') return roman(count).toUpperCase();
  if (format === 'decimalZero') return String(count).padStart(2, '0');
  return String(count);
}

/** Counts as Word does: a to z, then aa, bb. */
function letters(count: number): string {
  const letter = String.fromCharCode(97 + ((Math.max(count, 1) - 1) % 26));
  return letter.repeat(Math.min(10, Math.ceil(Math.max(count, 1) / 26)));
}

const ROMAN: [string, number][] = [
  ['m', 1000],
  ['cm', 900],
  ['d', 500],
  ['cd', 400],
  ['c', 100],
  ['xc', 90],
  ['l', 50],
  ['xl', 40],
  ['x', 10],
  ['ix', 9],
  ['v', 5],
  ['iv', 4],
  ['i', 1],
];

function roman(count: number): string {
  if (count < 1 || count >= 4_000) return String(count);
  let rest = count;
  let text = '';
  for (const [sign, value] of ROMAN) {
    text += sign.repeat(Math.floor(rest / value));
    rest %= value;
  }
  return text;
}

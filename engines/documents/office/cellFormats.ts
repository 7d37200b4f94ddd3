/** Formats numbers of cells. Workbooks store dates as numbers, and only the cell format tells them apart. */
import { walkPart } from '../markup.ts';
import type { Archive } from '../zip.ts';

export interface CellFormats {
  /** Returns the value as a reader would see it. `style` is the index of the cell's format. */
  show(value: string, style: number): string;
}

type Meaning = 'number' | 'percent' | 'date' | 'time' | 'moment' | 'duration';

/** Built-in formats, which workbooks refer to by number without defining them. */
const BUILT_IN: Record<number, Meaning> = {
  9: 'percent',
  10: 'percent',
  14: 'date',
  15: 'date',
  16: 'date',
  17: 'date',
  18: 'time',
  19: 'time',
  20: 'time',
  21: 'time',
  22: 'moment',
  27: 'date',
  28: 'date',
  29: 'date',
  30: 'date',
  31: 'date',
  36: 'date',
  45: 'time',
  46: 'duration',
  47: 'time',
  50: 'date',
  57: 'date',
};

const DAY_MS = 86_400_000;
/** Excel's day 1 is 1 January 1900. Its calendar wrongly has a 29 February 1900. */
const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);
const FALSE_LEAP_DAY = 60;
const LAST_DAY = 2_958_466;

export async function readCellFormats(
  archive: Archive,
  part: string | undefined,
  counts1904: boolean,
): Promise<CellFormats> {
  const meanings = part === undefined ? [] : await readMeanings(archive, part);
  return {
    show(value, style) {
      const number = Number(value);
      if (value.trim() === '' || !Number.isFinite(number)) return value;
      return write(number, meanings[style] ?? 'number', counts1904);
    },
  };
}

async function readMeanings(archive: Archive, part: string): Promise<Meaning[]> {
  const codes = new Map<number, string>();
  const meanings: Meaning[] = [];
  let inCells = false;
  await walkPart(archive, part, {
    open(name, { numFmtId = '0', formatCode = '' }) {
      const id = Number(numFmtId);
      if (name === 'numFmt') codes.set(id, formatCode);
      else if (name === 'cellXfs') inCells = true;
      else if (name === 'xf' && inCells) meanings.push(meaningOf(codes.get(id)) ?? BUILT_IN[id] ?? 'number');
    },
    close(name) {
      if (name === 'cellXfs') inCells = false;
    },
  });
  return meanings;
}

/** Maximum length of a format code in spreadsheet programs. */
const MAX_CODE_LETTERS = 255;

function meaningOf(code: string | undefined): Meaning | undefined {
  if (code === undefined || code.length > MAX_CODE_LETTERS) return undefined;
  if (/\[(h+|m+|s+)\]/i.test(code)) return 'duration';
  // Removes quoted texts, escaped characters, colours, countries and conditions, which do not affect the type.
  const bare = code.replace(/"[^"]*"|\\.|_.|\*.|\[[^\]]*\]/g, '').toLowerCase();
  const first = bare.split(';')[0] ?? '';
  if (first.includes('general')) return 'number';
  const hasDay = /[yd]|^m+$|mmm/.test(first);
  const hasTime = /[hs]/.test(first);
  if (hasDay && hasTime) return 'moment';
  if (hasDay) return 'date';
  if (hasTime) return 'time';
  return first.includes('%') ? 'percent' : 'number';
}

function write(number: number, meaning: Meaning, counts1904: boolean): string {
  if (meaning === 'percent') return `${plainNumber(number * 100)}%`;
  if (meaning === 'duration') return duration(number);
  if (meaning === 'number' || number < 0 || number >= LAST_DAY) return plainNumber(number);
  const whole = !counts1904 && number < FALSE_LEAP_DAY ? number + 1 : number;
  const epoch = counts1904 ? EPOCH_1904 : EPOCH_1900;
  const seconds = Math.round((whole * DAY_MS) / 1_000);
  const moment = new Date(epoch + seconds * 1_000).toISOString();
  const day = moment.slice(0, 10);
  const time = moment.slice(11, 19);
  if (meaning === 'time') return number < 1 ? time : `${day} ${time}`;
  return meaning === 'date' || time === '00:00:00' ? day : `${day} ${time}`;
}

/** Excel keeps 15 digits: 0.1 + 0.2 is 0.3 there. */
export function plainNumber(number: number): string {
  return String(Number(number.toPrecision(15)));
}

function duration(days: number): string {
  const seconds = Math.round(days * 86_400);
  const two = (part: number) => String(Math.abs(Math.trunc(part))).padStart(2, '0');
  const sign = seconds < 0 ? '-' : '';
  return `${sign}${two(seconds / 3_600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
}

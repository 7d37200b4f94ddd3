/** Reads workbooks sheet by sheet: a line for each row with content, cells separated by tabs. */
import type { DocumentText } from '../document.ts';
import { joinLines } from '../joinLines.ts';
import { type Attributes, type MarkupHandler, relationOf, walkPart } from '../markup.ts';
import { TextSink } from '../textSink.ts';
import type { Archive } from '../zip.ts';
import { type CellFormats, readCellFormats } from './cellFormats.ts';
import { relationsOf, targetOf } from './relations.ts';

interface Sheet {
  name: string;
  hidden: boolean;
  relation: string;
}

export async function readXlsx(archive: Archive, main: string): Promise<DocumentText> {
  const relations = await relationsOf(archive, main);
  const { sheets, counts1904 } = await readWorkbook(archive, main);
  const context: Omit<SheetContext, 'sink'> = {
    strings: await readStrings(archive, targetOf(relations, 'sharedStrings')),
    formats: await readCellFormats(archive, targetOf(relations, 'styles'), counts1904),
  };
  const sink = new TextSink();
  let hasRows = false;
  for (const { name, hidden, relation } of sheets) {
    sink.paragraph(`[Sheet: ${name}${hidden ? ' (hidden)' : ''}]`);
    const target = relations.find(({ id, type }) => id === relation && type === 'worksheet')?.target;
    if (target === undefined) continue;
    const walk = new SheetWalk({ ...context, sink });
    await walkPart(archive, target, walk);
    hasRows ||= walk.rows > 0;
  }
  return { kind: 'xlsx', text: hasRows ? sink.text : '', pages: sheets.length };
}

async function readWorkbook(archive: Archive, main: string) {
  const sheets: Sheet[] = [];
  let counts1904 = false;
  await walkPart(archive, main, {
    open(name, attributes) {
      if (name === 'workbookPr') counts1904 = /^(1|true)$/.test(attributes.date1904 ?? '');
      if (name !== 'sheet') return;
      const hidden = /hidden/i.test(attributes.state ?? '');
      sheets.push({ name: attributes.name ?? '', hidden, relation: relationOf(attributes) ?? '' });
    },
  });
  return { sheets, counts1904 };
}

/** Reads the shared texts of cells, without phonetic hints. */
async function readStrings(archive: Archive, part: string | undefined): Promise<string[]> {
  const strings: string[] = [];
  if (part === undefined) return strings;
  let text = '';
  let collects = false;
  let spoken = false;
  await walkPart(archive, part, {
    open(name) {
      if (name === 'si') text = '';
      else if (name === 'rPh') spoken = true;
      else if (name === 't') collects = !spoken;
    },
    text(piece) {
      if (collects) text += piece;
    },
    close(name) {
      if (name === 't') collects = false;
      else if (name === 'rPh') spoken = false;
      else if (name === 'si') strings.push(text);
    },
  });
  return strings;
}

interface SheetContext {
  strings: string[];
  formats: CellFormats;
  sink: TextSink;
}

interface Cell {
  column: number;
  type: string;
  style: number;
  value: string;
  formula: string;
}

const MAX_COLUMNS = 16_384;
/** Maximum number of tabs for a gap of empty cells. */
const MAX_GAP = 64;

class SheetWalk implements MarkupHandler {
  rows = 0;
  readonly #context: SheetContext;
  #row = '';
  /** Column of the last written cell. */
  #column = -1;
  #cell: Cell | undefined;
  #target: 'value' | 'formula' | undefined;
  #spoken = false;
  #nextColumn = 0;

  constructor(context: SheetContext) {
    this.#context = context;
  }

  open(name: string, attributes: Attributes): void {
    if (name === 'row') {
      this.#row = '';
      this.#column = -1;
      this.#nextColumn = 0;
    } else if (name === 'c') this.#openCell(attributes);
    else if (name === 'rPh') this.#spoken = true;
    else if (!this.#cell) return;
    else if (name === 'v' || (name === 't' && !this.#spoken)) this.#target = 'value';
    else if (name === 'f') this.#target = 'formula';
  }

  close(name: string): void {
    if (name === 'v' || name === 't' || name === 'f') this.#target = undefined;
    else if (name === 'rPh') this.#spoken = false;
    else if (name === 'c') this.#endCell();
    else if (name === 'row' && this.#row !== '') {
      this.#context.sink.line(this.#row);
      this.rows += 1;
    }
  }

  text(text: string): void {
    if (this.#cell && this.#target) this.#cell[this.#target] += text;
  }

  #openCell({ r, t = 'n', s = '0' }: Attributes): void {
    const column = r === undefined ? this.#nextColumn : columnOf(r);
    this.#nextColumn = column + 1;
    this.#cell = { column, type: t, style: Number(s), value: '', formula: '' };
  }

  #endCell(): void {
    const cell = this.#cell;
    this.#cell = undefined;
    if (!cell || cell.column >= MAX_COLUMNS) return;
    const text = joinLines(this.#show(cell), ' ', /[\t\r\n]/);
    if (text === '') return;
    const gap = this.#column < 0 ? Math.max(0, cell.column) : Math.max(1, cell.column - this.#column);
    this.#row += '\t'.repeat(Math.min(gap, MAX_GAP)) + text;
    this.#column = cell.column;
  }

  #show({ type, style, value, formula }: Cell): string {
    // The formula has no computed value yet.
    if (value === '') return formula === '' ? '' : `=${formula}`;
    if (type === 's') return this.#context.strings[Number(value)] ?? '';
    if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
    return type === 'n' ? this.#context.formats.show(value, style) : value;
  }
}

/** Index of the column: 0 for A1. */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of reference.toUpperCase()) {
    const digit = letter.charCodeAt(0) - 64;
    if (digit < 1 || digit > 26) break;
    column = column * 26 + digit;
    if (column > MAX_COLUMNS) return MAX_COLUMNS;
  }
  return Math.max(0, column - 1);
}

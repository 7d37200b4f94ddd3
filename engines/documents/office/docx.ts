/** Reads Word documents: headings, paragraphs, numbered lists, tables, notes, headers and footers. */
import type { DocumentText } from '../document.ts';
import { joinLines } from '../joinLines.ts';
import { type Attributes, attributeOf, type MarkupHandler, walkPart } from '../markup.ts';
import { markdownTable } from '../table.ts';
import { TextSink } from '../textSink.ts';
import type { Archive } from '../zip.ts';
import { readChart } from './chart.ts';
import { relationsOf, targetOf } from './relations.ts';
import { readWordLists, type WordLists } from './wordLists.ts';
import { type ParagraphStyle, readWordStyles } from './wordStyles.ts';

export async function readDocx(archive: Archive, main: string): Promise<DocumentText> {
  const relations = await relationsOf(archive, main);
  const context: WordContext = {
    styleOf: await readWordStyles(archive, targetOf(relations, 'styles')),
    lists: await readWordLists(archive, targetOf(relations, 'numbering')),
    sink: new TextSink(),
    notes: new Map(),
  };
  const said = new Set<string>();
  const edge = async (type: string) => {
    for (const { target } of relations.filter((relation) => relation.type === type)) {
      const text = await readAside(archive, target, context);
      if (text !== '' && !said.has(text)) context.sink.paragraph(text);
      said.add(text);
    }
  };
  await edge('header');
  await walkPart(archive, main, wordHandler(context));
  for (const { target } of relations.filter(({ type }) => type === 'chart')) {
    for (const block of await readChart(archive, target)) context.sink.paragraph(block);
  }
  for (const type of ['footnotes', 'endnotes']) {
    const notes = targetOf(relations, type);
    if (notes !== undefined) await walkPart(archive, notes, wordHandler(context));
  }
  await edge('footer');
  return { kind: 'docx', text: context.sink.text };
}

interface WordContext {
  styleOf(id: string): ParagraphStyle;
  lists: WordLists;
  sink: TextSink;
  /** Number of each note, in the order of the references in the text. */
  notes: Map<string, number>;
}

async function readAside(archive: Archive, part: string, context: WordContext): Promise<string> {
  const sink = new TextSink();
  await walkPart(archive, part, wordHandler({ ...context, sink }));
  return sink.text;
}

interface Paragraph {
  text: string;
  style: string;
  list: string | undefined;
  level: number | undefined;
}

interface Table {
  rows: string[][];
  cell: string[];
}

/**
 * Elements that are not part of the current text: deleted or moved text, fallbacks for older programs, and properties
 * from before a change.
 */
const SKIPPED = /^(Fallback|del|moveFrom|instrText|delText|[a-z]+PrChange|separator|continuationSeparator)$/;

class WordWalk implements MarkupHandler {
  readonly #context: WordContext;
  readonly #paragraphs: Paragraph[] = [];
  readonly #tables: Table[] = [];
  #skipped = 0;
  #runs = 0;
  #inText = false;
  #checked = false;
  #afterListItem = false;
  /** Mark of a note, written before its first paragraph. */
  #note = '';

  constructor(context: WordContext) {
    this.#context = context;
  }

  open(name: string, attributes: Attributes): void {
    if (this.#skipped > 0 || SKIPPED.test(name)) {
      this.#skipped += 1;
      return;
    }
    if (name === 'r') this.#runs += 1;
    else if (name === 't') this.#inText = true;
    else if (name === 'p') this.#paragraphs.push({ text: '', style: '', list: undefined, level: undefined });
    else if (name === 'tbl') this.#tables.push({ rows: [], cell: [] });
    else if (name === 'tr') this.#table?.rows.push([]);
    else if (name === 'footnote' || name === 'endnote') this.#note = `${this.#noteMark(name, attributes)} `;
    else if (this.#runs > 0) this.#openInRun(name, attributes);
    else this.#setProperty(name, attributeOf(attributes, 'val') ?? '');
  }

  close(name: string): void {
    if (this.#skipped > 0) {
      this.#skipped -= 1;
      return;
    }
    if (name === 'r') this.#runs -= 1;
    else if (name === 't') this.#inText = false;
    else if (name === 'p') this.#endParagraph();
    else if (name === 'tc') this.#endCell();
    else if (name === 'tbl') this.#endTable();
    else if (name === 'checkBox') this.#write(this.#checked ? '☒ ' : '☐ ');
  }

  text(text: string): void {
    if (this.#inText && this.#skipped === 0) this.#write(text);
  }

  get #table(): Table | undefined {
    return this.#tables.at(-1);
  }

  #write(text: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph) paragraph.text += text;
  }

  #openInRun(name: string, attributes: Attributes): void {
    if (name === 'checkBox') this.#checked = false;
    // The current state comes after the default state.
    else if (name === 'checked' || name === 'default') this.#checked = isOn(attributes);
    else if (name.endsWith('Reference')) this.#write(this.#noteMark(name.slice(0, -'Reference'.length), attributes));
    else this.#write(SIGNS[name] ?? '');
  }

  #noteMark(name: string, attributes: Attributes): string {
    if (name !== 'footnote' && name !== 'endnote') return '';
    const { notes } = this.#context;
    const note = `${name} ${attributeOf(attributes, 'id') ?? ''}`;
    const number = notes.get(note) ?? notes.size + 1;
    notes.set(note, number);
    return `[^${number}]`;
  }

  #setProperty(name: string, value: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (!paragraph) return;
    if (name === 'pStyle') paragraph.style = value;
    else if (name === 'numId') paragraph.list = value;
    else if (name === 'ilvl') paragraph.level = Number(value);
  }

  #endParagraph(): void {
    const paragraph = this.#paragraphs.pop();
    if (!paragraph) return;
    const text = paragraph.text.trim();
    if (text === '') return;
    const { line, isListItem } = this.#lineOf(paragraph, text);
    if (this.#table) this.#table.cell.push(line);
    else this.#emit(`${this.#note}${line}`, isListItem);
    this.#note = '';
  }

  #lineOf({ style, list, level }: Paragraph, text: string): { line: string; isListItem: boolean } {
    const { styleOf, lists } = this.#context;
    const styled = styleOf(style);
    const listId = list ?? styled.list;
    const depth = listId === undefined ? 0 : (level ?? styled.level ?? lists.levelOfStyle(listId, style) ?? 0);
    const label = listId === undefined ? undefined : lists.label(listId, depth);
    const numbered = label === undefined || label === '' ? text : `${label} ${text}`;
    if (styled.heading > 0 && !this.#table) {
      const heading = joinLines(numbered.replace(/^- /, ''), ' ');
      return { line: `${'#'.repeat(Math.min(styled.heading, 6))} ${heading}`, isListItem: false };
    }
    if (label === undefined) return { line: text, isListItem: false };
    return { line: `${'  '.repeat(depth)}${numbered}`, isListItem: true };
  }

  #endCell(): void {
    const table = this.#table;
    if (!table) return;
    if (table.rows.length === 0) table.rows.push([]);
    table.rows.at(-1)?.push(table.cell.join('\n'));
    table.cell = [];
  }

  #endTable(): void {
    const table = this.#tables.pop();
    const rows = (table?.rows ?? []).filter((row) => row.some((cell) => cell.trim() !== ''));
    if (rows.length === 0) return;
    const outer = this.#table;
    if (outer) outer.cell.push(rows.map((row) => row.join(', ')).join('; '));
    else this.#emit(markdownTable(rows), false);
  }

  #emit(block: string, isListItem: boolean): void {
    const { sink } = this.#context;
    if (isListItem && this.#afterListItem) sink.line(block);
    else sink.paragraph(block);
    this.#afterListItem = isListItem;
  }
}

function wordHandler(context: WordContext): MarkupHandler {
  return new WordWalk(context);
}

const SIGNS: Record<string, string> = { tab: '\t', ptab: '\t', br: '\n', cr: '\n', noBreakHyphen: '-' };

function isOn(attributes: Attributes): boolean {
  return !/^(0|false|off)$/.test(attributeOf(attributes, 'val') ?? '1');
}

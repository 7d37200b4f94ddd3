/** Converts web pages to the visible text, with headings, lists and tables. */
import { decodeText } from './decodeText.ts';
import { type DocumentText, UnreadableDocument } from './document.ts';
import { type Attributes, type MarkupHandler, walkMarkup } from './markup.ts';
import { TextSink } from './textSink.ts';

const SLICE = 64 * 1024;
/** The HTML standard looks for the charset in this many bytes. */
const PRESCAN_BYTES = 1_024;

export async function readHtml(bytes: Buffer, claimedCharset?: string): Promise<DocumentText> {
  const head = bytes.toString('latin1', 0, PRESCAN_BYTES);
  const said = /<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)/i.exec(head)?.[1];
  const page = decodeText(bytes, claimedCharset ?? said);
  if (page === undefined) throw new UnreadableDocument('damaged', 'the page is no text');
  const sink = new TextSink();
  await walkMarkup(slices(page), 'html', new HtmlWalk(sink));
  return { kind: 'html', text: sink.text.trim() };
}

function* slices(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += SLICE) yield text.slice(at, at + SLICE);
}

const SKIPPED = new Set(
  ['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'object', 'canvas', 'audio', 'video'].concat([
    'select',
    'datalist',
    'rp',
  ]),
);
/** Elements that start and end a line. Those with 2 also have an empty line around them. */
const BREAKS: Record<string, 1 | 2> = {
  ...named(2, 'p blockquote pre table ul ol dl h1 h2 h3 h4 h5 h6 hr figure title'),
  ...named(1, 'div section article aside header footer nav main address form fieldset'),
  ...named(1, 'li dt dd tr figcaption caption summary details option body center'),
};

function named(lines: 1 | 2, names: string): Record<string, 1 | 2> {
  return Object.fromEntries(names.split(' ').map((name) => [name, lines]));
}

interface HtmlList {
  /** Undefined for lists without numbers. */
  next: number | undefined;
}

export class HtmlWalk implements MarkupHandler {
  readonly #sink: TextSink;
  readonly #lists: HtmlList[] = [];
  #skipped = 0;
  #pre = 0;
  #cells = 0;
  /** Line ends before the next text. None before the first text. */
  #lineEnds = 0;
  #space = false;
  #begun = false;
  /** Prefix of the next text: the mark of a list, heading or row. */
  #mark = '';

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  open(name: string, attributes: Attributes): void {
    if (this.#skipped > 0 || SKIPPED.has(name) || isHidden(attributes)) {
      this.#skipped += 1;
      return;
    }
    this.#break(name);
    if (name === 'br') this.#endLine(1);
    else if (name === 'pre') this.#pre += 1;
    else if (name === 'hr') this.#write('---');
    else if (name === 'ul') this.#lists.push({ next: undefined });
    else if (name === 'ol') this.#lists.push({ next: Number.parseInt(attributes.start ?? '1', 10) || 1 });
    else if (name === 'li') this.#mark += this.#item();
    else if (/^h[1-6]$/.test(name)) this.#mark += `${'#'.repeat(Number(name[1]))} `;
    else if (name === 'td' || name === 'th') this.#openCell();
    else if (name === 'img' && attributes.alt?.trim()) this.text(` [${attributes.alt.trim()}] `);
  }

  close(name: string): void {
    if (this.#skipped > 0) {
      this.#skipped -= 1;
      return;
    }
    if (name === 'pre') this.#pre -= 1;
    else if (name === 'ul' || name === 'ol') this.#lists.pop();
    else if (name === 'td' || name === 'th') this.#closeCell();
    if (/^(h[1-6]|li)$/.test(name)) this.#mark = '';
    this.#break(name);
  }

  text(text: string): void {
    if (this.#skipped > 0) return;
    if (this.#pre > 0) this.#write(text);
    else {
      const words = text.replace(/[ \t\r\n\f]+/g, ' ');
      if (words.startsWith(' ')) this.#space = true;
      const trimmed = words.trim();
      if (trimmed === '') return;
      this.#write(trimmed);
      this.#space = words.endsWith(' ');
    }
  }

  #write(text: string): void {
    if (this.#begun && this.#lineEnds > 0) this.#sink.add('\n'.repeat(this.#lineEnds));
    else if (this.#begun && this.#space && !/^[-#\d]/.test(this.#mark)) this.#sink.add(' ');
    this.#sink.add(this.#mark + text);
    this.#begun = true;
    this.#mark = '';
    this.#lineEnds = 0;
    this.#space = false;
  }

  #break(name: string): void {
    const lines = BREAKS[name];
    if (lines !== undefined) this.#endLine(this.#lists.length > 0 || name === 'tr' ? 1 : lines);
  }

  /** Inside a table cell a line end becomes a blank. */
  #endLine(lines: number): void {
    if (this.#cells > 0) this.#space = true;
    else this.#lineEnds = Math.max(this.#lineEnds, lines);
  }

  #item(): string {
    const list = this.#lists.at(-1);
    const indent = '  '.repeat(Math.max(0, Math.min(this.#lists.length, 10) - 1));
    if (list?.next === undefined) return `${indent}- `;
    list.next += 1;
    return `${indent}${list.next - 1}. `;
  }

  #openCell(): void {
    this.#cells += 1;
    if (this.#cells === 1) this.#mark = '| ';
  }

  #closeCell(): void {
    this.#cells -= 1;
    if (this.#cells > 0) return;
    // An empty cell keeps its place in the row.
    if (this.#mark !== '') this.#write('');
    this.#space = true;
  }
}

function isHidden({ hidden, style = '' }: Attributes): boolean {
  return hidden !== undefined || /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style);
}

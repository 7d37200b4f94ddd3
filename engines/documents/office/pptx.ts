/** Reads presentations slide by slide, with tables, numbers of charts, and speaker notes. */
import type { DocumentText } from '../document.ts';
import { type Attributes, attributeOf, type MarkupHandler, relationOf, walkPart } from '../markup.ts';
import { markdownTable } from '../table.ts';
import { TextSink } from '../textSink.ts';
import type { Archive } from '../zip.ts';
import { readChart } from './chart.ts';
import { type Relation, relationsOf, targetOf } from './relations.ts';

export async function readPptx(archive: Archive, main: string): Promise<DocumentText> {
  const relations = new Map((await relationsOf(archive, main)).map((each) => [each.id, each]));
  const slides: Relation[] = [];
  await walkPart(archive, main, {
    open(name, attributes) {
      const relation = name === 'sldId' ? relations.get(relationOf(attributes) ?? '') : undefined;
      if (relation) slides.push(relation);
    },
  });
  const sink = new TextSink();
  for (const [index, { target }] of slides.entries()) {
    sink.paragraph(`[Slide ${index + 1}]`);
    await readSlide(archive, target, sink);
  }
  const isEmpty = sink.text.replace(/\[Slide \d+\]/g, '').trim() === '';
  return { kind: 'pptx', text: isEmpty ? '' : sink.text, pages: slides.length };
}

async function readSlide(archive: Archive, slide: string, sink: TextSink): Promise<void> {
  const relations = await relationsOf(archive, slide);
  for (const block of await readShapes(archive, slide)) sink.line(block);
  for (const { type, target } of relations) {
    if (type === 'diagramData') for (const block of await readShapes(archive, target)) sink.line(block);
    if (type === 'chart') for (const block of await readChart(archive, target)) sink.line(block);
  }
  const notes = targetOf(relations, 'notesSlide');
  const spoken = notes === undefined ? [] : await readShapes(archive, notes);
  if (spoken.length > 0) sink.line(`\nNotes:\n${spoken.join('\n')}`);
}

async function readShapes(archive: Archive, part: string): Promise<string[]> {
  const walk = new ShapeWalk();
  await walkPart(archive, part, walk);
  return walk.blocks();
}

/** Placeholders for slide numbers, dates, headers, footers and slide images. */
const FURNITURE = new Set(['sldNum', 'dt', 'ftr', 'hdr', 'sldImg']);
const TITLES = new Set(['title', 'ctrTitle']);

interface Shape {
  placeholder: string | undefined;
  lines: string[];
}

class ShapeWalk implements MarkupHandler {
  readonly #titles: string[] = [];
  readonly #blocks: string[] = [];
  #shape: Shape = { placeholder: undefined, lines: [] };
  #rows: string[][] | undefined;
  #paragraph: { text: string; level: number; bullet: boolean } | undefined;
  #inText = false;
  #skipped = 0;

  /** Titles come first, wherever they are drawn. */
  blocks(): string[] {
    return [...this.#titles, ...this.#blocks];
  }

  open(name: string, attributes: Attributes): void {
    if (this.#skipped > 0 || name === 'Fallback') this.#skipped += 1;
    else if (name === 'sp' || name === 'pt') this.#shape = { placeholder: undefined, lines: [] };
    else if (name === 'ph') this.#shape.placeholder = attributes.type ?? 'obj';
    else if (name === 'tbl') this.#rows = [];
    else if (name === 'tr') this.#rows?.push([]);
    else if (name === 'tc') this.#shape = { placeholder: undefined, lines: [] };
    else this.#openText(name, attributes);
  }

  #openText(name: string, attributes: Attributes): void {
    const { placeholder } = this.#shape;
    if (name === 'p') {
      this.#paragraph = { text: '', level: 0, bullet: placeholder === 'obj' };
    } else if (name === 't') this.#inText = true;
    else if (!this.#paragraph) return;
    else if (name === 'pPr') this.#paragraph.level = Math.min(9, Number(attributeOf(attributes, 'lvl')) || 0);
    else if (name === 'buNone') this.#paragraph.bullet = false;
    else if (name === 'buChar' || name === 'buAutoNum') this.#paragraph.bullet = true;
    else if (name === 'br') this.#paragraph.text += '\n';
  }

  close(name: string): void {
    if (this.#skipped > 0) this.#skipped -= 1;
    else if (name === 't') this.#inText = false;
    else if (name === 'p') this.#endParagraph();
    else if (name === 'tc') this.#rows?.at(-1)?.push(this.#shape.lines.join('\n'));
    else if (name === 'tbl') this.#endTable();
    else if (name === 'sp' || name === 'pt') this.#endShape();
  }

  text(text: string): void {
    if (this.#inText && this.#paragraph && this.#skipped === 0) this.#paragraph.text += text;
  }

  #endParagraph(): void {
    const paragraph = this.#paragraph;
    this.#paragraph = undefined;
    // A vertical tab is a line break in a title.
    const text = paragraph?.text.replaceAll('\v', '\n').trim() ?? '';
    if (paragraph === undefined || text === '') return;
    const isTitle = TITLES.has(this.#shape.placeholder ?? '');
    const mark = paragraph.bullet && !isTitle ? '- ' : '';
    this.#shape.lines.push(`${'  '.repeat(paragraph.level)}${mark}${text}`);
  }

  #endTable(): void {
    const table = markdownTable(this.#rows ?? []);
    this.#rows = undefined;
    this.#shape = { placeholder: undefined, lines: [] };
    if (table !== '') this.#blocks.push(table);
  }

  #endShape(): void {
    const { placeholder = '', lines } = this.#shape;
    this.#shape = { placeholder: undefined, lines: [] };
    if (lines.length === 0 || FURNITURE.has(placeholder)) return;
    if (TITLES.has(placeholder)) this.#titles.push(`# ${lines.join(' ').replace(/\s+/g, ' ')}`);
    else this.#blocks.push(lines.join('\n'));
  }
}

/** Reads a PDF page by page in the order of its content. Filled form fields follow the text of their page. */
import './noCanvas.ts';
import { fileURLToPath } from 'node:url';
import { getDocument, type PDFDocumentProxy, type PDFPageProxy } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { type DocumentText, MAX_PAGES, MAX_TEXT_CHARACTERS, UnreadableDocument } from './document.ts';
import { TextSink } from './textSink.ts';

/** Character maps for Chinese, Japanese and Korean texts that do not embed their own. */
const CHARACTER_MAPS = fileURLToPath(new URL('../../cmaps/', import.meta.resolve('pdfjs-dist/legacy/build/pdf.mjs')));

export async function readPdf(bytes: Buffer): Promise<DocumentText> {
  const task = getDocument({
    data: new Uint8Array(bytes),
    cMapUrl: CHARACTER_MAPS,
    cMapPacked: true,
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    isEvalSupported: false,
    enableXfa: false,
    verbosity: 0,
  });
  try {
    return await readPages(await task.promise);
  } catch (error) {
    throw reasonOf(error);
  } finally {
    await task.destroy();
  }
}

function reasonOf(error: unknown): unknown {
  if (error instanceof UnreadableDocument || !(error instanceof Error)) return error;
  return error.name === 'PasswordException'
    ? new UnreadableDocument('protected')
    : new UnreadableDocument('damaged', error.name);
}

async function readPages(document: PDFDocumentProxy): Promise<DocumentText> {
  const { numPages } = document;
  if (numPages > MAX_PAGES) throw new UnreadableDocument('too_large');
  const hasForm = (await document.getFieldObjects()) !== null;
  const sink = new TextSink();
  let hasText = false;
  for (let number = 1; number <= numPages; number += 1) {
    const page = await document.getPage(number);
    const text = await textOf(page, hasForm);
    hasText ||= text !== '';
    sink.paragraph(`[Page ${number}]`);
    if (text !== '') sink.line(text);
    page.cleanup();
  }
  return { kind: 'pdf', text: hasText ? sink.text : '', pages: numPages };
}

interface TextRun {
  str: string;
  width: number;
  height: number;
  transform: number[];
  hasEOL: boolean;
}

async function textOf(page: PDFPageProxy, hasForm: boolean): Promise<string> {
  const pieces = await piecesOf(page);
  const fields = hasForm ? await fieldsOf(page) : [];
  return [joinPieces(pieces), ...(fields.length > 0 ? [`Form fields:\n${fields.join('\n')}`] : [])]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Streams the text, so that a page with too much text is refused before it is read completely. */
async function piecesOf(page: PDFPageProxy): Promise<TextRun[]> {
  const reader: ReadableStreamDefaultReader<{ items: (TextRun | object)[] }> = page
    .streamTextContent({ includeMarkedContent: false })
    .getReader();
  const pieces: TextRun[] = [];
  let characters = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return pieces;
    for (const item of value.items) {
      if (!('str' in item)) continue;
      pieces.push(item);
      characters += item.str.length;
    }
    if (characters > MAX_TEXT_CHARACTERS) throw new UnreadableDocument('too_much_text');
  }
}

/** Gap between paragraphs, in line heights. */
const PARAGRAPH_GAP = 1.8;
/** Minimum blank between columns of a table, in line heights. */
const COLUMN_GAP = 1.5;

function joinPieces(pieces: TextRun[]): string {
  const lines: string[] = [];
  let line = '';
  let lineY: number | undefined;
  let lineHeight = 0;
  for (const { str, width, height, transform, hasEOL } of pieces) {
    const y = transform[5] ?? 0;
    const isBlank = str.trim() === '';
    if (!isBlank) {
      const drop = lineY === undefined || line !== '' ? 0 : lineY - y;
      if (drop > PARAGRAPH_GAP * Math.max(lineHeight, height)) lines.push('');
      lineY = y;
      lineHeight = height;
    }
    line += isBlank && width > COLUMN_GAP * lineHeight && lineHeight > 0 && !hasEOL ? '\t' : str;
    if (hasEOL) {
      lines.push(line.trimEnd());
      line = '';
    }
  }
  lines.push(line);
  // Some fonts map unknown characters to zero.
  return lines
    .join('\n')
    .replaceAll('\0', '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

interface Field {
  fieldType?: string;
  fieldName?: string;
  /** Label of the field in the form. */
  alternativeText?: string;
  fieldValue?: unknown;
}

async function fieldsOf(page: PDFPageProxy): Promise<string[]> {
  const annotations = (await page.getAnnotations()) as Field[];
  return annotations.flatMap(({ fieldType, fieldName = '', alternativeText, fieldValue }) => {
    const value = Array.isArray(fieldValue) ? fieldValue.join(', ') : fieldValue;
    const isFilled = typeof value === 'string' && value.trim() !== '' && value !== 'Off';
    if (fieldType === undefined || !isFilled) return [];
    const name = alternativeText || fieldName.slice(fieldName.lastIndexOf('.') + 1);
    return [`${name}: ${value.replace(/\r\n?/g, '\n')}`];
  });
}

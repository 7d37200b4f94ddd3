/** Runs in the document child only: detects the type of the bytes and extracts the text. */
import { fileTypeFromBuffer } from 'file-type';
import { decodeText } from './decodeText.ts';
import { type DocumentContent, type DocumentKind, type Hints, UnreadableDocument } from './document.ts';
import { readEpub } from './epub.ts';
import { readHtml } from './html.ts';
import { readDocx } from './office/docx.ts';
import { readPptx } from './office/pptx.ts';
import { type OfficeKind, officeDocument } from './office/relations.ts';
import { readXlsx } from './office/xlsx.ts';
import { TextSink } from './textSink.ts';
import { type Archive, openArchive } from './zip.ts';

/** The PDF signature may stand anywhere in this many first bytes. */
const PDF_HEAD_BYTES = 1_024;
const ZIP = Buffer.from('PK\x03\x04', 'latin1');
const OLD_OFFICE = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const LOCKED_OFFICE = Buffer.from('EncryptedPackage', 'utf16le');
/** Enough bytes to detect an image type. */
const SIGNATURE_BYTES = 64 * 1024;

export async function readDocument(bytes: Buffer, hints: Hints): Promise<DocumentContent> {
  const reading = await readByKind(bytes, hints);
  if (reading.kind !== 'image' && reading.text.trim() === '') throw new UnreadableDocument('no_text');
  return reading;
}

async function readByKind(bytes: Buffer, hints: Hints): Promise<DocumentContent> {
  if (bytes.subarray(0, PDF_HEAD_BYTES).includes('%PDF-')) {
    const { readPdf } = await import('./pdf.ts');
    return readPdf(bytes);
  }
  if (startsWith(bytes, ZIP)) return readArchive(openArchive(bytes));
  if (startsWith(bytes, OLD_OFFICE)) {
    throw new UnreadableDocument(bytes.includes(LOCKED_OFFICE) ? 'protected' : 'legacy_office');
  }
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(hints.claimedType)?.[1];
  const text = decodeText(bytes, charset);
  return text === undefined ? readPicture(bytes) : readText({ bytes, text, charset }, hints);
}

function startsWith(bytes: Buffer, signature: Buffer): boolean {
  return bytes.subarray(0, signature.length).equals(signature);
}

const OFFICE_READERS: Record<OfficeKind, (archive: Archive, main: string) => Promise<DocumentContent>> = {
  docx: readDocx,
  pptx: readPptx,
  xlsx: readXlsx,
};

async function readArchive(archive: Archive): Promise<DocumentContent> {
  if (archive.has('META-INF/container.xml') && !archive.has('content.xml')) return readEpub(archive);
  const office = await officeDocument(archive);
  if (office?.kind === undefined) throw new UnreadableDocument('unsupported');
  return OFFICE_READERS[office.kind](archive, office.main);
}

async function readPicture(bytes: Buffer): Promise<DocumentContent> {
  const type = await fileTypeFromBuffer(bytes.subarray(0, SIGNATURE_BYTES)).catch(() => undefined);
  if (type?.mime.startsWith('image/')) return { kind: 'image', mediaType: type.mime };
  throw new UnreadableDocument('unsupported');
}

const TEXT_KINDS: Record<string, DocumentKind> = {
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  csv: 'csv',
  tsv: 'csv',
  json: 'json',
  md: 'markdown',
  markdown: 'markdown',
};
const CLAIMED_KINDS: Record<string, DocumentKind> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/csv': 'csv',
  'application/json': 'json',
  'text/markdown': 'markdown',
};
/** HTML is detected only without extension and known claimed type, because source code may begin in the same way. */
const PAGE_START = /^\s*(<\?xml[^>]*>\s*)?(<!--[\s\S]{0,2000}?-->\s*)?(<!doctype html|<html[\s>])/i;

interface PlainText {
  bytes: Buffer;
  text: string;
  charset: string | undefined;
}

async function readText({ bytes, text, charset }: PlainText, hints: Hints): Promise<DocumentContent> {
  if (text.startsWith('{\\rtf')) throw new UnreadableDocument('unsupported');
  const kind = textKind(text, hints);
  if (kind === 'html') return readHtml(bytes, charset);
  const sink = new TextSink();
  sink.add(text);
  return { kind, text: sink.text };
}

function textKind(text: string, { extension, claimedType }: Hints): DocumentKind {
  const byName = TEXT_KINDS[extension];
  if (byName !== undefined) return byName;
  const claimed = CLAIMED_KINDS[claimedType.split(';')[0]?.trim() ?? ''];
  if (claimed !== undefined) return claimed;
  return extension === '' && PAGE_START.test(text.slice(0, 4_000)) ? 'html' : 'text';
}

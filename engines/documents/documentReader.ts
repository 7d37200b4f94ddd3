/**
 * Reads documents in child processes with hard limits on time and memory, never in this process. A document that makes
 * its parser loop or grow ends only its child (PARSE-1).
 */
import { readFile, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { FareboxError } from '../../domain/errors.ts';
import { tooBusy } from '../../infra/tooBusy.ts';
import { createChildPool } from '../child/childPool.ts';
import { shippedChild } from '../child/keptChild.ts';
import type { WorkFolders } from '../child/workFolders.ts';
import { type DocumentAnswer, type DocumentQuestion, INPUT_FILE, TEXT_FILE } from './childWords.ts';
import { type DocumentContent, type DocumentRefusal, type Hints, MAX_DOCUMENT_BYTES } from './document.ts';

interface GivenDocument {
  bytes: Buffer;
  /** Hint for plain text types. All other types are detected from the bytes. */
  filename?: string;
  /** Media type as a hint, like the file name. */
  claimedType?: string;
}

export interface DocumentReader {
  /** Resolves with the whole text, or with the type of an image. Rejects with FareboxError `invalid_document`. */
  read(document: GivenDocument, options?: { signal?: AbortSignal }): Promise<DocumentContent>;
  close(): void;
}

export interface DocumentReaderOptions {
  workFolders: WorkFolders;
  /** Compiled child. Default: the shipped one. */
  childPath?: string;
  maxChildren?: number;
  timeoutMs?: number;
}

const LIMITS = { heapMb: 512, memoryMb: 768, filesPerChild: 25, cpuSeconds: 600, maxWaiting: 64 };
/** Number of documents read concurrently. */
export const DOCUMENT_CHILDREN = 2;
const busy = tooBusy('documents are being read', 5);

export function createDocumentReader(options: DocumentReaderOptions): DocumentReader {
  const { workFolders, maxChildren = DOCUMENT_CHILDREN, timeoutMs = 20_000 } = options;
  const path = options.childPath ?? shippedChild('engines/documents/documentChild');
  const pool = createChildPool<DocumentQuestion, DocumentAnswer>({
    ...LIMITS,
    path,
    name: 'document',
    maxChildren,
    timeoutMs,
  });
  return {
    async read(document, { signal } = {}) {
      if (document.bytes.length > MAX_DOCUMENT_BYTES) throw refused('too_large');
      const folder = await workFolders.create();
      try {
        await writeFile(join(folder, INPUT_FILE), document.bytes, { mode: 0o600 });
        const answer = await pool.ask({ folder, hints: hintsOf(document) }, signal).catch(busy);
        if (answer === undefined) throw refused('too_complex', 'the child was ended by its limits');
        return await readingOf(answer, folder);
      } finally {
        void workFolders.remove(folder);
      }
    },
    close() {
      pool.close();
    },
  };
}

function hintsOf({ filename = '', claimedType = '' }: GivenDocument): Hints {
  return {
    extension: extname(filename).slice(1, 20).toLowerCase(),
    claimedType: claimedType.slice(0, 200).toLowerCase(),
  };
}

async function readingOf({ reading, refusal, detail }: DocumentAnswer, folder: string): Promise<DocumentContent> {
  if (reading === undefined) throw refused(refusal ?? 'damaged', detail);
  if (reading.kind === 'image') return reading;
  return { ...reading, text: await readFile(join(folder, TEXT_FILE), 'utf8') };
}

const READABLE = 'PDF, DOCX, PPTX, XLSX, EPUB, HTML, CSV, JSON, Markdown and plain text';
const WORDS: Record<DocumentRefusal, string> = {
  unsupported: `The document is of a type that cannot be read; ${READABLE} can`,
  legacy_office: 'The document is in an old Office format; save it as DOCX, XLSX or PPTX',
  protected: 'The document is protected by a password; send it without one',
  damaged: 'The document is damaged or incomplete and cannot be read',
  no_text: 'The document contains no text; scanned pages are pictures, send them as images',
  too_large: 'The document is too large: at most 25 MB, 100 MB when unpacked, and 5,000 pages',
  too_much_text: 'The document contains more than 2,000,000 characters of text',
  too_complex: 'The document is too complex to be read within the limits on time and memory',
};

function refused(refusal: DocumentRefusal, detail?: string): FareboxError {
  const internal = detail === undefined || detail === refusal ? refusal : `${refusal}: ${detail}`;
  return new FareboxError({ code: 'invalid_document', message: WORDS[refusal], internal });
}

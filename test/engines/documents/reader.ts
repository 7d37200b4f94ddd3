/** A document reader for a test file, and the reason of a refusal. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { workFolders } from '../../../engines/child/workFolders.ts';
import {
  createDocumentReader,
  type DocumentReader,
  type DocumentReaderOptions,
} from '../../../engines/documents/documentReader.ts';

export function openReader(options: Partial<DocumentReaderOptions> = {}): DocumentReader {
  const root = mkdtempSync(join(tmpdir(), 'farebox-documents-'));
  const folders = workFolders(root);
  const reader = createDocumentReader({ workFolders: folders, maxChildren: 1, ...options });
  afterAll(async () => {
    reader.close();
    await folders.settled();
    rmSync(root, { recursive: true, force: true });
  });
  return reader;
}

/** Reason of the refusal as logged, or the text. */
export async function outcome(reader: DocumentReader, bytes: Buffer, filename = ''): Promise<string> {
  try {
    const reading = await reader.read({ bytes, filename });
    return reading.kind === 'image' ? `image ${reading.mediaType}` : reading.text;
  } catch (error) {
    if (!(error instanceof FareboxError) || error.code !== 'invalid_document') throw error;
    return `refused: ${error.internal?.split(':')[0]}`;
  }
}

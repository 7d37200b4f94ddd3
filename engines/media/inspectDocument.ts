/** Runs in the inspection child only: which document a file is by its signature; what is in it is for whoever reads it. */
import { readFileSync, statSync } from 'node:fs';
import { fileTypeFromBuffer } from 'file-type';
import { decodeText } from '../documents/decodeText.ts';
import { MAX_DOCUMENT_BYTES } from '../documents/document.ts';

const TYPES: Record<string, string | undefined> = {
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Answers the content type; undefined: no such document. */
export async function inspectDocument(path: string): Promise<string | undefined> {
  if (statSync(path).size > MAX_DOCUMENT_BYTES) return undefined;
  const file = readFileSync(path);
  const known = await fileTypeFromBuffer(file);
  if (known !== undefined) return TYPES[known.ext];
  const text = decodeText(file);
  return text === undefined || text.trim() === '' ? undefined : 'text/plain';
}

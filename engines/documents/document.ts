/** Words and limits that the reader of documents and its child share. */

/** `text` is everything that is meant to be read as it is written: notes, logs, source code, XML. */
export type DocumentKind = 'pdf' | 'docx' | 'pptx' | 'xlsx' | 'epub' | 'html' | 'csv' | 'json' | 'markdown' | 'text';

export interface DocumentText {
  kind: DocumentKind;
  text: string;
  /** Pages of a PDF, slides of a presentation, sheets of a workbook. */
  pages?: number;
}

/** A picture has no text to give: it is for a model that sees. */
export interface DocumentPicture {
  kind: 'image';
  /** Such as `image/png`, told from the bytes. */
  mediaType: string;
}

export type DocumentContent = DocumentText | DocumentPicture;

/** What the child is told of the name: enough for kinds of plain text, which have no signature. */
export interface Hints {
  /** Lower case, without the dot; empty when there is none. */
  extension: string;
  claimedType: string;
}

export type DocumentRefusal =
  | 'unsupported'
  | 'legacy_office'
  | 'protected'
  | 'damaged'
  | 'no_text'
  | 'too_large'
  | 'too_much_text'
  | 'too_complex';

/** Ends the reading of a document: it cannot be read, and that is not our fault. */
export class UnreadableDocument extends Error {
  readonly refusal: DocumentRefusal;

  constructor(refusal: DocumentRefusal, detail?: string) {
    super(detail ?? refusal);
    this.refusal = refusal;
  }
}

export const MAX_DOCUMENT_BYTES = 25 * 1024 * 1024;
export const MAX_TEXT_CHARACTERS = 2_000_000;
/** Of all that is taken out of one archive, as it really comes out. */
export const MAX_INFLATED_BYTES = 100 * 1024 * 1024;
export const MAX_ARCHIVE_ENTRIES = 5_000;
export const MAX_PAGES = 5_000;
export const MAX_DEPTH = 2_000;

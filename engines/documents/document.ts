/** Types and limits that the document reader shares with its child. */

/** `text` is any text to be read as written: notes, logs, source code, XML. */
export type DocumentKind = 'pdf' | 'docx' | 'pptx' | 'xlsx' | 'epub' | 'html' | 'csv' | 'json' | 'markdown' | 'text';

export interface DocumentText {
  kind: DocumentKind;
  text: string;
  /** Number of PDF pages, slides or sheets. */
  pages?: number;
}

/** An image has no text and is for a vision model. */
export interface DocumentPicture {
  kind: 'image';
  /** For example `image/png`. Detected from the bytes. */
  mediaType: string;
}

export type DocumentContent = DocumentText | DocumentPicture;

/** Hints for plain text types, which have no signature. */
export interface Hints {
  /** Lower case, without the dot. Empty when there is none. */
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

/** The document cannot be read, and the fault is not ours. */
export class UnreadableDocument extends Error {
  readonly refusal: DocumentRefusal;

  constructor(refusal: DocumentRefusal, detail?: string) {
    super(detail ?? refusal);
    this.refusal = refusal;
  }
}

export const MAX_DOCUMENT_BYTES = 25 * 1024 * 1024;
export const MAX_TEXT_CHARACTERS = 2_000_000;
/** Limit of all bytes unpacked from one archive, counted as they come out. */
export const MAX_INFLATED_BYTES = 100 * 1024 * 1024;
export const MAX_ARCHIVE_ENTRIES = 5_000;
export const MAX_PAGES = 5_000;
export const MAX_DEPTH = 2_000;

/** What the reader of documents and its child say to each other. Bytes and text go through files: messages are JSON. */
import type { ChildAnswer } from '../child/childPool.ts';
import type { DocumentPicture, DocumentRefusal, DocumentText, Hints } from './document.ts';

export const INPUT_FILE = 'document';
export const TEXT_FILE = 'text';

export interface DocumentQuestion {
  folder: string;
  hints: Hints;
}

export interface DocumentAnswer extends ChildAnswer {
  reading?: Omit<DocumentText, 'text'> | DocumentPicture;
  refusal?: DocumentRefusal;
  /** For the log. */
  detail?: string;
}

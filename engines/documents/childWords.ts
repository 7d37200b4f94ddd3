/** What the reader of documents and its child say to each other. Bytes and text go through files: messages are JSON. */
import type { ChildAnswer } from '../child/childPool.ts';
import type { DocumentText, Hints, Picture, Refusal } from './document.ts';

export const INPUT_FILE = 'document';
export const TEXT_FILE = 'text';

export interface DocumentQuestion {
  folder: string;
  hints: Hints;
}

export interface DocumentAnswer extends ChildAnswer {
  reading?: Omit<DocumentText, 'text'> | Picture;
  refusal?: Refusal;
  /** For the log. */
  detail?: string;
}

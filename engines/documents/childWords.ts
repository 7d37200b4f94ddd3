/** Messages between the document reader and its child. Bytes and text go through files. */
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
  /** For the log only. */
  detail?: string;
}

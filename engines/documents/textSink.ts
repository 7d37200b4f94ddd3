/** Collects the text of a document. Refuses the document above the limit instead of cutting it. */
import { MAX_TEXT_CHARACTERS, UnreadableDocument } from './document.ts';

export class TextSink {
  #text = '';

  add(piece: string): void {
    if (this.#text.length + piece.length > MAX_TEXT_CHARACTERS) throw new UnreadableDocument('too_much_text');
    this.#text += piece;
  }

  /** Starts a new paragraph, with an empty line before it unless it is the first. */
  paragraph(piece: string): void {
    this.add(this.#text === '' ? piece : `\n\n${piece}`);
  }

  line(piece: string): void {
    this.add(this.#text === '' ? piece : `\n${piece}`);
  }

  get text(): string {
    return this.#text;
  }
}

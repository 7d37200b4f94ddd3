/** Takes the text of a document as it is found, and no more of it than the limit: a document is whole or refused. */
import { MAX_TEXT_CHARACTERS, UnreadableDocument } from './document.ts';

export class TextSink {
  #text = '';

  add(piece: string): void {
    if (this.#text.length + piece.length > MAX_TEXT_CHARACTERS) throw new UnreadableDocument('too_much_text');
    this.#text += piece;
  }

  /** Starts a new paragraph, unless it is the first. */
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

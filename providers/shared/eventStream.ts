/**
 * Parses server-sent events of text services; only `data` matters. Uses no timers or streams and reads each byte once,
 * because hundreds of streams share one core.
 */
import { StringDecoder } from 'node:string_decoder';

/** A line, or one event's lines, exceed the limit. */
export class FrameTooLong extends Error {}

const MAX_CHARACTERS = 8 * 1024 * 1024;

export class EventStreamParser {
  private readonly decoder = new StringDecoder('utf8');
  private readonly mostCharacters: number;
  private line = '';
  private data: string | undefined;
  private begun = false;
  private afterReturn = false;

  constructor(mostCharacters = MAX_CHARACTERS) {
    this.mostCharacters = mostCharacters;
  }

  /** Returns the data of the events that this piece completes. */
  push(piece: Buffer): string[] {
    return this.take(this.decoder.write(piece));
  }

  /** Ends the body; returns a last event, or a partial one, that lacks its blank line. */
  end(): string[] {
    const events = this.take(this.decoder.end());
    if (this.line !== '') this.takeLine(this.line, events);
    this.line = '';
    this.takeLine('', events);
    return events;
  }

  private take(read: string): string[] {
    const events: string[] = [];
    const text = this.withoutOpening(read);
    const hasReturns = text.includes('\r');
    let from = 0;
    for (let end = lineEnd(text, from, hasReturns); end >= 0; end = lineEnd(text, from, hasReturns)) {
      const line = this.line === '' ? text.slice(from, end) : this.line + text.slice(from, end);
      this.line = '';
      from = end + 1;
      if (text.charCodeAt(end) === RETURN) {
        if (from === text.length) this.afterReturn = true;
        else if (text.charCodeAt(from) === NEWLINE) from += 1;
      }
      this.takeLine(line, events);
    }
    if (from < text.length) this.line += from === 0 ? text : text.slice(from);
    this.checkLength(this.line);
    return events;
  }

  /** Removes a byte order mark, and the `\n` of a line end whose `\r` ended the last piece. */
  private withoutOpening(text: string): string {
    if (text === '') return text;
    let from = 0;
    if (!this.begun && text.charCodeAt(0) === BYTE_ORDER_MARK) from = 1;
    if (this.afterReturn && text.charCodeAt(0) === NEWLINE) from = 1;
    this.begun = true;
    this.afterReturn = false;
    return from === 0 ? text : text.slice(from);
  }

  private takeLine(line: string, events: string[]): void {
    if (line === '') {
      if (this.data !== undefined) events.push(this.data);
      this.data = undefined;
    } else if (line.startsWith('data:')) {
      const value = line.slice(line.charCodeAt(5) === SPACE ? 6 : 5);
      this.data = this.data === undefined ? value : `${this.data}\n${value}`;
      this.checkLength(this.data);
    } else if (line === 'data') {
      this.data = this.data === undefined ? '' : `${this.data}\n`;
    }
  }

  private checkLength(text: string): void {
    if (text.length > this.mostCharacters) throw new FrameTooLong(`more than ${this.mostCharacters} characters`);
  }
}

const RETURN = 13;
const NEWLINE = 10;
const SPACE = 32;
const BYTE_ORDER_MARK = 0xfeff;

function lineEnd(text: string, from: number, hasReturns: boolean): number {
  const newline = text.indexOf('\n', from);
  if (!hasReturns) return newline;
  const carriage = text.indexOf('\r', from);
  if (carriage < 0) return newline;
  return newline < 0 ? carriage : Math.min(newline, carriage);
}

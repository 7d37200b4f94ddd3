/** Decodes base64 in slices as it arrives, and detects malformed text. */

const NOTHING = Buffer.alloc(0);
const AFTER_PADDING = /[^=\t\n\r ]/;
const WHITESPACE = /[\t\n\r ]+/g;

/**
 * Accepts both alphabets, with or without padding, and whitespace anywhere, as many encoders write it. The platform's
 * decoder skips unknown characters, so a result that is too short shows that there were some.
 */
export class Base64Decoder {
  isMalformed = false;
  #rest = '';
  #isPadded = false;

  /** Returns the bytes decoded by this slice; none once the text is malformed. */
  push(text: string): Buffer {
    if (this.isMalformed) return NOTHING;
    if (this.#isPadded) return this.#afterPadding(text);
    const joined = this.#rest + text;
    const padding = joined.indexOf('=');
    if (padding < 0) return this.#decode(joined);
    this.#isPadded = true;
    this.#rest = '';
    const bytes = this.#decode(joined.slice(0, padding));
    this.#afterPadding(joined.slice(padding));
    return bytes;
  }

  /** Returns the last bytes. */
  finish(): Buffer {
    const rest = this.#rest.replace(WHITESPACE, '');
    this.#rest = '';
    const bytes = Buffer.from(rest, 'base64');
    if (rest.length === 1 || bytes.length !== Math.floor((rest.length * 3) / 4)) this.isMalformed = true;
    return this.isMalformed ? NOTHING : bytes;
  }

  #decode(text: string): Buffer {
    const whole = text.length - (text.length % 4);
    const bytes = Buffer.from(text.slice(0, whole), 'base64');
    if (bytes.length === (whole / 4) * 3) {
      this.#rest = text.slice(whole);
      return bytes;
    }
    const packed = text.replace(WHITESPACE, '');
    if (packed.length < text.length) return this.#decode(packed);
    this.isMalformed = true;
    return NOTHING;
  }

  #afterPadding(text: string): Buffer {
    if (AFTER_PADDING.test(text)) this.isMalformed = true;
    return NOTHING;
  }
}

/** Refusals of prompts that the image library cannot carry out, with hints about what it can. */
import { FareboxError } from '../../errors.ts';

const CAN_DO =
  'This model can crop, resize, pad, rotate, flip, brighten, darken, warm, cool, change contrast and saturation, make ' +
  'black-and-white, sepia, tinted or inverted, blur, sharpen, pixelate, add a vignette, a border, rounded corners, ' +
  'opacity or "text" in quotation marks, put a further image over the first, and use one as a mask';

/** Longer parts of a prompt are not quoted. */
const MAX_QUOTED = 24;

/** Refusal; `why` completes "The prompt cannot be carried out: …". */
export function impossibleEdit(why: string): FareboxError {
  return new FareboxError({
    code: 'unsupported_feature',
    message: `The prompt cannot be carried out: ${why}. ${CAN_DO}`,
  });
}

/** Refusal of an understood but impossible edit. */
export function contradiction(why: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message: `The prompt cannot be carried out: ${why}` });
}

export function unquotedText(): FareboxError {
  return contradiction('the text needs quotation marks, as in: write "Hello" at the top');
}

export function unknownWord(word: string): FareboxError {
  if (word.length > MAX_QUOTED || !/^[\p{L}\p{M}\p{N}']+$/u.test(word)) {
    return impossibleEdit('a part of it is not understood');
  }
  return impossibleEdit(`the word "${word}" is not understood, or not in this place`);
}

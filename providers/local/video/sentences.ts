/** A prompt as the texts of successive scenes. */

/** Below this a text cannot be read. */
const MIN_SECONDS = 2;
const MAX_SCENES = 10;
/** More than this is never shown, so it need not be typeset. */
const MAX_TEXT_LENGTH = 400;
/** Control and format characters, variation selectors, halves of pairs: nothing that a font could show. */
const INVISIBLE = /\p{C}|\p{Variation_Selector}/gu;
/** After the mark of an end, also that of other scripts, or where an empty line was. */
const SENTENCE_END = /(?<=[.!?…。！？؟।]["'”’»)]?)\s+|(?<=[。！？])|\n+/u;

/** At least one text, maybe an empty one: then there is nothing to show. At most as many as the time lets be read. */
export function sceneTexts(prompt: string, seconds: number): string[] {
  const sentences = paragraphs(prompt.normalize('NFC'))
    .split(SENTENCE_END)
    .map((sentence) => plain(sentence))
    .filter((sentence) => /[\p{L}\p{N}\p{S}]/u.test(sentence));
  const most = Math.max(1, Math.min(MAX_SCENES, Math.floor(seconds / MIN_SECONDS)));
  const count = Math.min(most, sentences.length);
  if (count === 0) return [''];
  const bounds = Array.from({ length: count + 1 }, (_, index) =>
    Math.round((index * sentences.length) / count),
  );
  return bounds
    .slice(1)
    .map((end, index) =>
      [...sentences.slice(bounds[index], end).join(' ')].slice(0, MAX_TEXT_LENGTH).join(''),
    );
}

/** One line for each paragraph: a single line break is a space. Line by line, since a long run of blanks is no work then. */
function paragraphs(prompt: string): string {
  const lines = prompt.split(/\r\n|[\n\r\u2028\u2029]/u).map((line) => line.trim());
  return lines.map((line) => (line === '' ? '\n' : `${line} `)).join('');
}

function plain(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').replaceAll(INVISIBLE, '').trim();
}

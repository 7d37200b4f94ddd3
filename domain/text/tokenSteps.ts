/**
 * State machine, as a table, for the token estimate: the cost of each character depends on the ones before it, with one
 * look-up per character. Vocabularies contain words of their languages, ends of identifiers and runs of white space,
 * but few numbers, marks and invented words.
 */

/** Costs are in 1/40 of a token; three tokens must stay below `STATE`. */
export const TOKEN = 40;
/** A step holds the next state above the bits of its cost. */
const STATE = 128;
export const COST = STATE - 1;

/** State at the start, and after a digit, a mark, or a letter of a script without multi-letter tokens. */
const OTHER = 0;
/** After one space, which begins the token of the next word. */
const SPACE = 1;
const SPACES = 2;
const LINES = 3;
const TABS = 4;
const CAPITALS = 5;
/** First of `MAX_WORD_LENGTH` states, one per letter; a longer run of letters is not a word. */
const WORD = 6;
const MAX_WORD_LENGTH = 16;
const UNBROKEN = WORD + MAX_WORD_LENGTH - 1;

/** Three of four letters in most texts of Latin script; little more than half of random ones. */
const COMMON = new Set('acdehilmnoprstu');
const LETTER = { common: 9, rare: 34, leastUnbroken: 24 };
const CAPITAL = { common: 18, rare: 38, behindSmall: 56 };
const SAME_SPACE = 4;
const SAME_LINE = 8;

type Step = [cost: number, state: number];

function stepOf(state: number, character: string): Step {
  if (/\s/.test(character)) return stepOfSpace(state, character);
  if (/[A-Z]/.test(character)) return stepOfCapital(state, character);
  return /[a-z]/.test(character) ? stepOfLetter(state, character) : [TOKEN, OTHER];
}

function stepOfSpace(state: number, character: string): Step {
  if (character === '\n' || character === '\r') return [state === LINES ? SAME_LINE : TOKEN, LINES];
  if (character === '\t') return [state === TABS ? SAME_LINE : TOKEN, TABS];
  if (character !== ' ') return [TOKEN, OTHER];
  return state === SPACE || state === SPACES ? [SAME_SPACE, SPACES] : [TOKEN, SPACE];
}

function stepOfCapital(state: number, character: string): Step {
  if (state >= WORD) return [CAPITAL.behindSmall, CAPITALS];
  if (state !== CAPITALS) return [state === SPACE ? 0 : TOKEN, CAPITALS];
  return [COMMON.has(character.toLowerCase()) ? CAPITAL.common : CAPITAL.rare, CAPITALS];
}

function stepOfLetter(state: number, character: string): Step {
  const rate = COMMON.has(character) ? LETTER.common : LETTER.rare;
  if (state === CAPITALS) return [rate, WORD];
  if (state < WORD) return [state === SPACE ? 0 : TOKEN, WORD];
  return state === UNBROKEN ? [Math.max(rate, LETTER.leastUnbroken), UNBROKEN] : [rate, state + 1];
}

const ASCII = 0x80;
const STEPS = new Uint16Array((UNBROKEN + 1) * STATE);
for (let state = 0; state <= UNBROKEN; state += 1) {
  for (let code = 0; code < ASCII; code += 1) {
    const [cost, next] = stepOf(state, String.fromCharCode(code));
    STEPS[state * STATE + code] = next * STATE + cost;
  }
}

/**
 * Tokens per character, from each code on: one token in scripts with many readers, whose letters and many words are in
 * vocabularies. Elsewhere the number of bytes, since a token has at least one byte.
 */
const BEYOND_ASCII: [from: number, tokens: number][] = [
  [0x80, 1],
  // Phonetic letters and combining marks.
  [0x250, 2],
  // Greek, Cyrillic, Armenian, Hebrew, Arabic.
  [0x370, 1],
  [0x700, 2],
  [0x800, 3],
  // Scripts of India, and Thai.
  [0x900, 1],
  [0xe80, 2],
  // Burmese and Georgian.
  [0x1000, 1],
  [0x1100, 3],
  // Ethiopic.
  [0x1200, 2],
  [0x1380, 3],
  // Khmer.
  [0x1780, 1],
  [0x1800, 3],
  // Vietnamese.
  [0x1e00, 1],
  [0x1f00, 2],
  // Dashes and quotation marks.
  [0x2010, 1],
  [0x2040, 2],
  [0x2300, 3],
  // Box drawing.
  [0x2500, 1.25],
  [0x2580, 3],
  // Kana, and CJK punctuation.
  [0x3000, 1],
  [0x3100, 3],
  // Chinese: half of the common characters are one token, the others two.
  [0x4e00, 1.25],
  [0xa000, 3],
  // Korean.
  [0xac00, 1],
  [0xd7b0, 3],
  // Surrogates.
  [0xd800, 2],
  [0xe000, 3],
  // Full-width marks and digits, then letters.
  [0xff00, 1],
  [0xff20, 2],
  [0xfff0, 3],
];
const LATIN_END = 0x250;
/** Steps by blocks of 16 characters. */
const BLOCKS = new Uint16Array(0x1_0000 / 16);
for (const [from, tokens] of BEYOND_ASCII) BLOCKS.fill(tokens * TOKEN, from / 16);
// An accent does not end a word.
for (let block = ASCII / 16; block < LATIN_END / 16; block += 1) BLOCKS[block] = TOKEN + WORD * STATE;

/** Step of a UTF-16 code after the step `before` (0 at the start); its bits `COST` are the cost. */
export function stepFrom(before: number, code: number): number {
  const step = code < ASCII ? STEPS[(before & ~COST) | code] : BLOCKS[code >> 4];
  return step ?? 0;
}

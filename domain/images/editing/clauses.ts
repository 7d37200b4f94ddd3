/** A prompt cut into clauses: each says one thing to do, with all that belongs to it. */
import {
  DEGREES,
  DIRECTIONS,
  FILLERS,
  HEADS,
  type Head,
  IMAGE_NOUNS,
  namedColour,
  ORDINALS,
  OTHERS,
  PHRASES,
  SHADES,
} from './lexicon.ts';
import { type Token, tokenize, wordOf } from './tokens.ts';

export interface Clause {
  tokens: Token[];
  /** Joined to the one before by "and" or a comma, not by "then" or a full stop. */
  isLoose: boolean;
}

const AND = ['and', 'also', 'plus'];
const THEN = ['then', 'afterwards', 'finally'];

export function clausesOf(prompt: string): Clause[] {
  const tokens = toColours(toOrdinals(toPhrases(tokenize(prompt))));
  return splitHeads(joinContinued(splitAtBreaks(tokens)));
}

const BY_FIRST_WORD: ReadonlyMap<string, (readonly [readonly string[], string])[]> = byFirstWord();

function byFirstWord() {
  const table = new Map<string, (readonly [readonly string[], string])[]>();
  for (const [phrase, word] of PHRASES) {
    const words = phrase.split(' ');
    const first = words[0] ?? '';
    table.set(first, [...(table.get(first) ?? []), [words, word]]);
  }
  return table;
}

function toPhrases(tokens: readonly Token[]): Token[] {
  const merged: Token[] = [];
  for (let at = 0; at < tokens.length; ) {
    const token = tokens[at];
    const from = at;
    const found = BY_FIRST_WORD.get(wordOf(token) ?? '')?.find(([words]) =>
      words.every((word, index) => wordOf(tokens[from + index]) === word),
    );
    if (found) merged.push({ kind: 'word', text: found[1] });
    else if (token) merged.push(token);
    at += found ? found[0].length : 1;
  }
  return merged;
}

/** "2nd" comes as a number and a word. */
function toOrdinals(tokens: readonly Token[]): Token[] {
  const merged: Token[] = [];
  for (const token of tokens) {
    const last = merged.at(-1);
    const ordinal = last?.kind === 'number' && token.kind === 'word' ? `${last.value}${token.text}` : '';
    if (ORDINALS.has(ordinal)) merged[merged.length - 1] = { kind: 'word', text: ordinal };
    else merged.push(token);
  }
  return merged;
}

/** "dark blue" is one colour. */
function toColours(tokens: readonly Token[]): Token[] {
  const merged: Token[] = [];
  for (const token of tokens) {
    const name = wordOf(token) ?? '';
    const shade = SHADES.get(wordOf(merged.at(-1)) ?? '');
    const colour = namedColour(name, shade);
    if (colour && shade !== undefined) merged.pop();
    merged.push(colour ? { kind: 'colour', name, colour } : token);
  }
  return merged;
}

function splitAtBreaks(tokens: readonly Token[]): Clause[] {
  const clauses: Clause[] = [];
  let current: Clause = { tokens: [], isLoose: false };
  for (const token of tokens) {
    const word = wordOf(token) ?? '';
    const isLoose = AND.includes(word) || (token.kind === 'break' && token.isLoose);
    if (token.kind !== 'break' && !AND.includes(word) && !THEN.includes(word)) {
      current.tokens.push(token);
    } else if (current.tokens.length > 0) {
      clauses.push(current);
      current = { tokens: [], isLoose };
    } else if (!isLoose) {
      // ", and then": the strictest counts.
      current.isLoose = false;
    }
  }
  return [...clauses, current].filter((clause) => clause.tokens.some((token) => !isFiller(token)));
}

function isFiller(token: Token): boolean {
  return token.kind === 'word' && FILLERS.has(token.text);
}

/** "…, in white" and "… and 600 pixels high" go on with what was said before; so does a layer's "50% opacity". */
function joinContinued(clauses: readonly Clause[]): Clause[] {
  const joined: Clause[] = [];
  for (const clause of clauses) {
    const last = joined.at(-1);
    if (last && clause.isLoose && continues(clause, last)) {
      last.tokens.push({ kind: 'break', isLoose: true }, ...clause.tokens);
    } else {
      joined.push({ ...clause, tokens: [...clause.tokens] });
    }
  }
  return joined;
}

function continues(clause: Clause, last: Clause): boolean {
  const has = (kind: Token['kind'], { tokens }: Clause) => tokens.some((token) => token.kind === kind);
  const heads = headsOf(clause.tokens);
  if (heads.length > 0) {
    const isLayer = namesFurther(last) && !has('quote', last);
    return isLayer && heads.every(({ op }) => op === 'opacity' || op === 'transparency');
  }
  if (namesFurther(clause) || clause.tokens.some((token) => /^mask/.test(wordOf(token) ?? ''))) return false;
  // They are things to do of their own.
  const own = (['quote', 'size', 'ratio'] as const).find((kind) => has(kind, clause));
  const isOpen = headsOf(last.tokens).length > 0 || has('quote', last) || namesFurther(last);
  return own === undefined ? isOpen : headsOf(last.tokens).length > 0 && !has(own, last) && wants(own, last);
}

const WANTED: Readonly<Record<'quote' | 'size' | 'ratio', readonly string[]>> = {
  quote: ['text'],
  size: ['resize', 'crop'],
  ratio: ['crop', 'pad'],
};

function wants(own: keyof typeof WANTED, last: Clause): boolean {
  const isBare = !last.tokens.some(({ kind }) => kind !== 'word');
  return isBare && headsOf(last.tokens).every(({ op }) => WANTED[own].includes(op));
}

function namesFurther({ tokens }: Clause): boolean {
  return tokens.some((token, at) => {
    const word = wordOf(token) ?? '';
    const next = tokens[at + 1];
    const isNumbered =
      IMAGE_NOUNS.has(word) && next?.kind === 'number' && next.unit === undefined && next.value > 1;
    return isNumbered || OTHERS.has(word) || (ORDINALS.get(word) ?? 0) > 1;
  });
}

function headsOf(tokens: readonly Token[]): Head[] {
  return tokens.flatMap((token) => HEADS.get(wordOf(token) ?? '') ?? []);
}

/** "High contrast black-and-white" is two things to do. */
function splitHeads(clauses: readonly Clause[]): Clause[] {
  return clauses.flatMap((clause) => {
    if (namesFurther(clause) || clause.tokens.some((token) => token.kind === 'quote')) return [clause];
    const pieces: Clause[] = [];
    let [from, last] = [0, undefined as string | undefined];
    clause.tokens.forEach((token, at) => {
      const name = headName(token);
      if (name === undefined) return;
      if (last !== undefined && SPLIT.has(last) && SPLIT.has(name) && last !== name) {
        const start = startOfHead(clause.tokens, at);
        pieces.push({ tokens: clause.tokens.slice(from, start), isLoose: from > 0 || clause.isLoose });
        from = start;
      }
      last = name;
    });
    return [...pieces, { tokens: clause.tokens.slice(from), isLoose: from > 0 || clause.isLoose }];
  });
}

/** "size" is a thing to do only where there is no other: "a border of size 20". */
function headName(token: Token): string | undefined {
  const word = wordOf(token) ?? '';
  const head = word === 'size' ? undefined : HEADS.get(word);
  return head && (head.op === 'tone' ? head.tone : head.op);
}

/** Only these follow each other without a word between. */
const SPLIT: ReadonlySet<string> = new Set([
  'brightness',
  'contrast',
  'saturation',
  'warmth',
  'grey',
  'sepia',
  'blur',
  'sharpen',
  'vignette',
]);

function startOfHead(tokens: readonly Token[], head: number): number {
  let start = head;
  while (start > 0) {
    const before = wordOf(tokens[start - 1]) ?? '';
    if (!DIRECTIONS.has(before) && !DEGREES.has(before) && !FILLERS.has(before)) break;
    start -= 1;
  }
  return start;
}

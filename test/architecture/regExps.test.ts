/**
 * Checks that every regular expression of the service is linear in its text. Each runs over texts of its own
 * characters, alone and between its beginnings and ends. Others than linear ones take minutes for a megabyte instead of
 * milliseconds.
 */
import { createContext, Script } from 'node:vm';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { readSource, sourceFiles } from './sources.ts';

const RUN_LETTERS = 1024 * 1024;
/** Length for the first pass over many texts. Slow ones are then repeated longer. */
const SCREEN_LETTERS = 32 * 1024;
const SUSPECT_LETTERS = 192 * 1024;
const TEXTS_AT_ONCE = 64;
const SCREEN_LIMIT_MS = 100;
const LIMIT_MS = 1_000;
/** Repetitions: a busy machine may be slow once, a super-linear expression is slow each time. */
const TRIES = 4;

const FLOORS = /^(api|activities|domain|engines|infra|providers|workflows)\//;
/** Code that reads only the operator's files and tools. */
const TRUSTED_TEXT = /^(infra\/config\/|dev\/|domain\/catalogue\/builtin\/)/;

/** Maximum text length where earlier code bounds it, with the reason. */
const BOUNDED: Record<string, number> = {
  // Longer headers are ignored.
  'api/queue/preferredWait.ts /^\\s*([!#$%&\'*+.^_`|~\\w-]+)\\s*(?:=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([!#$%&\'*+.^_`|~\\w-]*))\\s*)?(?:;|$)/': 1_000,
  'api/queue/preferredWait.ts /(?:[^,"]|"(?:[^"\\\\]|\\\\.)*"|")+/g': 1_000,
  // Padding of our own encoder.
  'domain/base64.ts /=+$/': 2,
  // Numbers in our own notation.
  'domain/generation/terms.ts /\\.?0+$/': 40,
  'domain/money.ts /0+$/': 40,
  'domain/text/bill.ts /0+$/': 40,
  // The first kilobyte of a page.
  'engines/documents/html.ts /<meta[^>]+charset\\s*=\\s*["\']?\\s*([\\w-]+)/i': 1_024,
  // A format code of a spreadsheet.
  'engines/documents/office/cellFormats.ts /"[^"]*"|\\\\.|_.|\\*.|\\[[^\\]]*\\]/g': 255,
  // Service URLs of the operator.
  'infra/http/serviceHttp.ts /\\/+$/': 1_000,
  'infra/telemetry/openTelemetry.ts /\\/+$/': 1_000,
  'providers/anthropic/anthropic.ts /\\/+(v1\\/*)?$/': 1_000,
  'providers/search/brave.ts /\\/+(res\\/v1\\/*)?$/': 1_000,
  'providers/elevenlabs/elevenlabs.ts /\\/+(v1\\/*)?$/': 1_000,
  'providers/replicate/service.ts /\\/+(v1\\/*)?$/': 1_000,
  // Runs only on a text of durations.
  'providers/openai/errorReply.ts /([\\d.]+)(ms|s|m|h)/g': 100,
};

/** Files that compose expressions from constants of the same file. */
const COMPOSED = ['api/text/web/question.ts', 'domain/signIn/grammar.ts'];

interface Found {
  /** Literal expressions, and composed ones after composition. */
  literals: string[];
  isComposed: boolean;
}

function regExpsOf(file: string): Found {
  const source = readSource(file);
  const literals: string[] = [];
  const composed: string[] = [];
  const textOf = ({ start, end }: { start: number; end: number }) => source.slice(start, end);
  const visitor = new Visitor({
    Literal(node) {
      if ('regex' in node) literals.push(textOf(node));
    },
    NewExpression(node) {
      if (textOf(node.callee) === 'RegExp') composed.push(textOf(node));
    },
  });
  const { program } = parseSync(file, source);
  visitor.visit(program);
  if (composed.length > 0 && COMPOSED.includes(file)) {
    const constants = program.body
      .filter((node) => node.type === 'VariableDeclaration')
      .flatMap(({ declarations }) => declarations)
      .filter(({ init }) => ['Literal', 'TemplateLiteral'].includes(init?.type ?? ''))
      .map((node) => `var ${textOf(node)};`);
    const script = new Script(`${constants.join('')}[${composed.join()}].map(String)`);
    literals.push(...(script.runInNewContext() as string[]));
  }
  return { literals, isComposed: composed.length > 0 };
}

const CLASSES: Record<string, string[]> = {
  ...{
    s: [' ', '\n'],
    w: ['a', '0'],
    d: ['0'],
    b: ['a', ' '],
    p: ['a', '0'],
    n: ['\n'],
    t: ['\t'],
    r: ['\r'],
  },
};
const MAX_CHARACTERS = 16;

/** Characters of an expression, one per class, and its runs of plain characters. */
function partsOf(literal: string): { characters: string[]; words: string[] } {
  const source = literal.slice(1, literal.lastIndexOf('/'));
  const characters = new Set(['a', ' ']);
  const plain = source.replace(/\\([swdbpSWDBPntr])/g, (_escape, name: string) => {
    for (const character of CLASSES[name.toLowerCase()] ?? []) characters.add(character);
    return ' ';
  });
  for (const character of plain.replace(/\{\d+(,\d*)?\}/g, '').replace(/\\(.)/g, '$1')) {
    if (characters.size < MAX_CHARACTERS) characters.add(character);
  }
  const words = [...plain.matchAll(/(?:\\.|[^\\\s()[\]{}.^$?*+|])+/g)].map(([word]) => word.replace(/\\(.)/g, '$1'));
  return { characters: [...characters], words: words.filter((word) => word.length > 1) };
}

const MAX_BEGINNINGS = 12;
/** A member of each class. */
const MEMBERS: Record<string, string> = {
  s: ' ',
  w: 'a',
  d: '0',
  p: 'a',
  n: '\n',
  t: '\t',
  r: '\r',
  S: 'a',
  W: ' ',
  D: 'a',
};

/** Texts that match prefixes of the expression, with each required part once. */
function beginningsOf(literal: string): string[] {
  const source = literal.slice(1, literal.lastIndexOf('/')).replace(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, '(');
  const tokens = source.matchAll(/\\[pP]\{[^}]*\}|\\(.)|\[(\^?)((?:\\.|[^\]\\])*)\]|\{\d+(?:,\d*)?\}|[\s\S]/g);
  const beginnings = new Set(['']);
  let text = '';
  for (const [token, escaped, negated, members] of tokens) {
    text = token === '|' ? '' : text + memberOf(token, { escaped, negated, members });
    if (beginnings.size < MAX_BEGINNINGS) beginnings.add(text);
  }
  return [...beginnings];
}

interface Token {
  escaped: string | undefined;
  negated: string | undefined;
  members: string | undefined;
}

/** Text that matches this token. Empty for quantifiers and assertions. */
function memberOf(token: string, { escaped, negated, members }: Token): string {
  if (/^(?:[()|*+?^$]|\{\d)/.test(token) || escaped === 'b' || escaped === 'B') return '';
  if (escaped !== undefined) return MEMBERS[escaped] ?? escaped;
  if (negated || token === '.' || token.startsWith('\\')) return 'a';
  if (members === undefined) return token;
  return members.startsWith('\\') ? (MEMBERS[members.charAt(1)] ?? members.charAt(1)) : members.charAt(0);
}

/** Ends of a text: one that no expression matches, some that many match, and none. */
const ENDS = ['\u0001!', 'a', ' ', '\n', ''];

type Text = (letters: number) => string;

function repeated(beginning: string, unit: string, end: string): Text {
  return (letters) => `${beginning}${unit.repeat(Math.ceil(letters / unit.length))}${end}`;
}

function manyTexts(literal: string): Text[] {
  const { characters, words } = partsOf(literal);
  const beginnings = beginningsOf(literal);
  const units = [...characters, ...words].flatMap((first) => ['', ...characters].map((second) => first + second));
  const whole = beginnings.filter((unit) => unit.length > 1);
  return [
    ...[...units, ...whole].map((unit) => repeated('', unit, ENDS[0] ?? '')),
    ...beginnings.flatMap((beginning) =>
      characters.flatMap((unit) => ENDS.map((end) => repeated(beginning, unit, end))),
    ),
  ];
}

const judged = new Map<string, string | undefined>();

/** Start of the first text that is not processed in linear time. Cached, because expressions recur in many files. */
function slowText(literal: string, letters: number): string | undefined {
  const name = `${letters} ${literal}`;
  if (!judged.has(name)) judged.set(name, findSlowText(literal, letters));
  return judged.get(name);
}

function findSlowText(literal: string, letters: number): string | undefined {
  const use = /[a-z]*g[a-z]*$/.test(literal.slice(literal.lastIndexOf('/'))) ? 'text.replace(re, "")' : 're.exec(text)';
  const context = createContext({});
  const script = new Script(`(() => { const re = ${literal}; for (const text of texts) ${use}; })()`);
  const isSlow = (texts: string[], timeout: number) => {
    context.texts = texts;
    try {
      script.runInContext(context, { timeout });
      return false;
    } catch {
      return true;
    }
  };
  const isAlwaysSlow = (text: string) => Array.from({ length: TRIES }).every(() => isSlow([text], LIMIT_MS));
  for (const character of partsOf(literal).characters) {
    const text = repeated('', character, ENDS[0] ?? '')(letters);
    if (isAlwaysSlow(text)) return text.slice(0, 10);
  }
  const texts = manyTexts(literal);
  for (let from = 0; from < texts.length; from += TEXTS_AT_ONCE) {
    const some = texts.slice(from, from + TEXTS_AT_ONCE);
    const screened = some.map((text) => text(Math.min(letters, SCREEN_LETTERS)));
    if (!isSlow(screened, SCREEN_LIMIT_MS)) continue;
    const slow = some.map((text) => text(Math.min(letters, SUSPECT_LETTERS))).find(isAlwaysSlow);
    if (slow !== undefined) return `${slow.slice(0, 20)}…${slow.slice(-4)}`;
  }
  return undefined;
}

const FILES = sourceFiles()
  .filter((file) => FLOORS.test(file) && !TRUSTED_TEXT.test(file))
  .map((file) => ({ file, ...regExpsOf(file) }))
  .filter(({ literals, isComposed }) => literals.length > 0 || isComposed);

describe('regular expressions', () => {
  it.each(FILES.filter(({ literals }) => literals.length > 0))('are linear in $file', { timeout: 300_000 }, (found) => {
    for (const literal of new Set(found.literals)) {
      const slow = slowText(literal, BOUNDED[`${found.file} ${literal}`] ?? RUN_LETTERS);
      expect({ literal, slow }).toEqual({ literal, slow: undefined });
    }
  });
});

it('composes no regular expression elsewhere, and has no unused bound', () => {
  expect(FILES.filter(({ isComposed }) => isComposed).map(({ file }) => file)).toEqual(COMPOSED);
  const all = new Set(FILES.flatMap(({ file, literals }) => literals.map((literal) => `${file} ${literal}`)));
  expect(Object.keys(BOUNDED).filter((name) => !all.has(name))).toEqual([]);
});

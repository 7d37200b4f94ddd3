/**
 * Every regular expression of the service is linear in the text that it is used on. Each is run over texts that repeat its
 * own characters: one that is not linear takes minutes for a megabyte, the others milliseconds.
 */
import { createContext, Script } from 'node:vm';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { readSource, sourceFiles } from './sources.ts';

const RUN_LETTERS = 1024 * 1024;
/** For units of several characters, of which there are many. */
const PAIR_LETTERS = 128 * 1024;
const LIMIT_MS = 1_000;
/** A busy machine may be slow once; a regular expression that is not linear is slow each time. */
const TRIES = 4;

const FLOORS = /^(api|activities|domain|infra|providers|workflows)\//;
/** What the operator's own files and tools say. */
const TRUSTED_TEXT = /^(infra\/(config|launch|stack)\/|domain\/catalogue\/builtin\/)/;

/** Most letters of the text where something before the expression bounds it; with the reason. */
const BOUNDED: Record<string, number> = {
  // Longer headers are ignored.
  'api/preferredWait.ts /(?:[^,"]|"(?:[^"\\\\]|\\\\.)*"|")+/g': 1_000,
  // The padding of our own encoder.
  'domain/base64.ts /=+$/': 2,
  // Numbers that we wrote.
  'domain/generation/terms.ts /\\.?0+$/': 40,
  'domain/money.ts /0+$/': 40,
  'domain/text/bill.ts /0+$/': 40,
  'providers/local/video/filterText.ts /\\.?0+$/': 40,
  // The first kilobyte of a page.
  'infra/documents/html.ts /<meta[^>]+charset\\s*=\\s*["\']?\\s*([\\w-]+)/i': 1_024,
  // A format code of a spreadsheet.
  'infra/documents/office/cellFormats.ts /"[^"]*"|\\\\.|_.|\\*.|\\[[^\\]]*\\]/g': 255,
  // The operator's addresses of services.
  'infra/http/providerHttp.ts /\\/+$/': 1_000,
  'infra/http/textHttp.ts /\\/+$/': 1_000,
  'infra/telemetry/openTelemetry.ts /\\/+$/': 1_000,
  'providers/anthropic/anthropic.ts /\\/+(v1\\/*)?$/': 1_000,
  'providers/brave/brave.ts /\\/+(res\\/v1\\/*)?$/': 1_000,
  'providers/elevenlabs/elevenlabs.ts /\\/+(v1\\/*)?$/': 1_000,
  'providers/replicate/service.ts /\\/+(v1\\/*)?$/': 1_000,
  // Asked only of a text that is nothing but durations.
  'providers/openai/errorReply.ts /([\\d.]+)(ms|s|m|h)/g': 100,
};

/** Put together from parts; their texts are bounded and their own tests fuzz them. */
const COMPOSED = ['api/text/web/question.ts', 'domain/signIn/grammar.ts'];

interface Found {
  literals: string[];
  isComposed: boolean;
}

function regExpsOf(file: string): Found {
  const source = readSource(file);
  const found: Found = { literals: [], isComposed: false };
  const visitor = new Visitor({
    Literal(node) {
      if ('regex' in node) found.literals.push(source.slice(node.start, node.end));
    },
    NewExpression(node) {
      if (source.slice(node.callee.start, node.callee.end) === 'RegExp') found.isComposed = true;
    },
  });
  visitor.visit(parseSync(file, source).program);
  return found;
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

/** The characters that an expression names, one for each class, and its runs of plain characters. */
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
  const words = [...plain.matchAll(/(?:\\.|[^\\\s()[\]{}.^$?*+|])+/g)].map(([word]) =>
    word.replace(/\\(.)/g, '$1'),
  );
  return { characters: [...characters], words: words.filter((word) => word.length > 1) };
}

/** Each text ends in what no expression looks for, so that a match up to the end fails. */
function* textsFor(literal: string, letters: number): Generator<string> {
  const { characters, words } = partsOf(literal);
  const text = (unit: string, most: number) =>
    `${unit.repeat(Math.ceil(Math.min(most, letters) / unit.length))}\u0001!`;
  for (const character of characters) yield text(character, RUN_LETTERS);
  for (const first of [...characters, ...words]) {
    for (const second of ['', ...characters]) yield text(first + second, PAIR_LETTERS);
  }
}

const judged = new Map<string, string | undefined>();

/** The beginning of the first text for which the expression is not linear. The same one stands in many files. */
function slowText(literal: string, letters: number): string | undefined {
  const name = `${letters} ${literal}`;
  if (!judged.has(name)) judged.set(name, findSlowText(literal, letters));
  return judged.get(name);
}

function findSlowText(literal: string, letters: number): string | undefined {
  const use = literal.slice(literal.lastIndexOf('/')).includes('g')
    ? 'text.replace(re, "")'
    : 're.exec(text)';
  const context = createContext({});
  const script = new Script(`(() => { const re = ${literal}; ${use}; })()`);
  const isSlow = (text: string) => {
    context.text = text;
    try {
      script.runInContext(context, { timeout: LIMIT_MS });
      return false;
    } catch {
      return true;
    }
  };
  for (const text of textsFor(literal, letters)) {
    if (Array.from({ length: TRIES }).every(() => isSlow(text))) return text.slice(0, 10);
  }
  return undefined;
}

const FILES = sourceFiles()
  .filter((file) => FLOORS.test(file) && !TRUSTED_TEXT.test(file))
  .map((file) => ({ file, ...regExpsOf(file) }))
  .filter(({ literals, isComposed }) => literals.length > 0 || isComposed);

describe('the regular expressions of', () => {
  it.each(FILES.filter(({ literals }) => literals.length > 0))('$file', { timeout: 300_000 }, (found) => {
    for (const literal of new Set(found.literals)) {
      const slow = slowText(literal, BOUNDED[`${found.file} ${literal}`] ?? RUN_LETTERS);
      expect({ literal, slow }).toEqual({ literal, slow: undefined });
    }
  });
});

it('are composed in no other file, and no bound is left over', () => {
  expect(FILES.filter(({ isComposed }) => isComposed).map(({ file }) => file)).toEqual(COMPOSED);
  const all = new Set(FILES.flatMap(({ file, literals }) => literals.map((literal) => `${file} ${literal}`)));
  expect(Object.keys(BOUNDED).filter((name) => !all.has(name))).toEqual([]);
});

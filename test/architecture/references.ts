/** Finds broken references in comments, test titles and documents: rules, paths and links. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type * as ESTree from 'oxc-parser';
import { parseSync, Visitor } from 'oxc-parser';
import { lineFinder } from './facts.ts';
import { FLOORS } from './floors.ts';
import { filesWith, ROOT, readSource } from './sources.ts';

interface Passage {
  line: number;
  /** Single line without comment marks. */
  text: string;
}

export interface RuleBook {
  /** Ids in the order of the documents, with duplicates. */
  ids: readonly string[];
  /** Matches every id with a known prefix, with or without a rule. */
  cited: RegExp;
}

/** Heading `### API-1`, or a table row whose first cell is an anchor followed by the id. */
const RULE = /^(?:### |\| <a id="[a-z0-9-]+"><\/a>)((?:[A-Z]+-|I)\d+)(?= |$)/gm;

/** Rules of the documents. Throws if a table anchor is not its id in lower case. */
export function readRules(documents: readonly string[]): RuleBook {
  const ids = documents.flatMap((text) =>
    [...text.matchAll(RULE)].map(([row, id = '']) => {
      const anchor = /<a id="([^"]*)">/.exec(row)?.[1];
      if (anchor !== undefined && anchor !== id.toLowerCase()) throw new Error(`${id} has the anchor ${anchor}`);
      return id;
    }),
  );
  const prefixes = [...new Set(ids.map((id) => id.replace(/\d+$/, '')))];
  return { ids, cited: new RegExp(`(?<![\\w-])(?:${prefixes.join('|')})\\d+(?![\\w-])`, 'g') };
}

const CODE = /\.[cm]?[jt]s$/;
/** The comment of a line, by the kind of file. */
const LINE_COMMENTS: readonly [RegExp, RegExp][] = [
  [/\.sql$/, /--(.*)$/],
  [/\.sol$/, /(?:\/\/|\/\*|^\s*\*)(.*)$/],
  [/\.(?:ya?ml|sh)$|Dockerfile$/, /(?:^|\s)#(.*)$/],
];

/** Files whose comments are read. */
function hasComments(name: string): boolean {
  return CODE.test(name) || LINE_COMMENTS.some(([kind]) => kind.test(name));
}

/** Comments. In code also test titles and the names of ledger invariants. */
function passagesOf(file: string, source: string): Passage[] {
  if (CODE.test(file)) return passagesOfCode(file, source);
  const comment = LINE_COMMENTS.find(([kind]) => kind.test(file))?.[1];
  if (comment === undefined) return [];
  return source.split('\n').flatMap((content, index) => {
    const text = comment.exec(content)?.[1];
    return text === undefined ? [] : [{ line: index + 1, text }];
  });
}

function passagesOfCode(file: string, source: string): Passage[] {
  const lineOf = lineFinder(source);
  const { comments, program } = parseSync(file, source);
  const passages = comments.map(({ start, value }) => ({
    line: lineOf(start),
    text: value.replace(/\s*\n\s*\*?\s*/g, ' '),
  }));
  const add = ({ start }: ESTree.Span, text: string) => passages.push({ line: lineOf(start), text });
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      const text = title && isTitled(callee) ? textOf(title) : undefined;
      if (title && text !== undefined) add(title, text);
    },
    Literal(node) {
      const isName = file.startsWith('infra/postgres/') && /^I\d+ [a-z]/.test(String(node.value));
      if (isName) add(node, String(node.value));
    },
  }).visit(program);
  return passages;
}

/** Accepts `it(…)`, `test.each(…)(…)`, `describe.skipIf(…)(…)` and the like. */
function isTitled(callee: ESTree.Node): boolean {
  if (callee.type === 'Identifier') return ['describe', 'it', 'test'].includes(callee.name);
  if (callee.type === 'CallExpression') return isTitled(callee.callee);
  if (callee.type === 'TaggedTemplateExpression') return isTitled(callee.tag);
  return callee.type === 'MemberExpression' && isTitled(callee.object);
}

function textOf(node: ESTree.Node): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  return node.type === 'TemplateLiteral' ? node.quasis.map(({ value }) => value.raw).join('…') : undefined;
}

/** Names of documents that are not in the repository. */
const FOREIGN: readonly RegExp[] = [
  /\bapi-facts\b/i,
  /\bthe specification\b|\bspecification(?: part)? \d/i,
  /\b[Rr]eliability(?:\.md)?,? (?:[A-Z](?:\.?\d|\b)|finding)/,
  /\boperator's contract\b/i,
  /\((?:components|contract|design|peers|review|temporal)[:)]/i,
  /\b(?:api-facts|cluster|components|console|contract|design|gaps|peers|reliability|style|temporal)\.md\b/i,
  /\bissue \d|\b(?:an|the|this) issue (?:asks|demands|lists|names|says|wants)\b|\bissue and /i,
  /\breview(?: section)? \d/i,
  /\((?:[FGHJLQRWX][1-9]\d?|S[124-9]|S\d\d)(?:[)–,]| to )/,
];

const FOLDERS = ['docs', ...FLOORS].join('|');
/** Paths from the root of the repository. */
const OWN_PATH = new RegExp(`(?<![\\w./@-])(?:${FOLDERS})/[\\w./-]*\\.(?:json|md|mjs|mts|sql|ts)\\b`, 'g');
/** Paths from the folder of the file. */
const RELATIVE_PATH = /(?<![\w./])\.{1,2}\/[\w./-]*\.(?:json|md|mjs|mts|sql|ts)\b/g;
/** Markdown links. Targets with a scheme are external. */
const LINK = /\]\((?![a-z]+:)([^)\s]+)\)/g;

/** Lines of the form `path:line: reference: why`. */
export function referenceViolations(file: string, source: string, rules: RuleBook): string[] {
  return passagesOf(file, source).flatMap(({ line, text }) => {
    const at = `${file}:${line}`;
    const foreign = FOREIGN.flatMap((name) => name.exec(text)?.[0] ?? []);
    return [
      ...unknownRules(text, rules).map((id) => `${at}: ${id}: docs/reference has no such rule`),
      ...foreign.map((name) => `${at}: ${name}: not in the repository; cite a rule of docs/reference`),
      ...missingTargets(file, text).map((target) => `${at}: ${target}: leads nowhere`),
    ];
  });
}

/** Like `referenceViolations` for a document, whose links may name an anchor. */
export function documentViolations(file: string, source: string, rules: RuleBook): string[] {
  return source.split('\n').flatMap((text, index) => [
    ...unknownRules(text, rules).map((id) => `${file}:${index + 1}: ${id}: docs/reference has no such rule`),
    ...[...text.matchAll(LINK)]
      .map(([, target = '']) => target)
      .filter((target) => linkFault(file, target, source) !== undefined)
      .map((target) => `${file}:${index + 1}: ${target}: leads nowhere`),
  ]);
}

export interface ReferringFiles {
  /** Files of any floor that may have comments. */
  files: string[];
  documents: string[];
  /** Documents with the rules. */
  reference: string[];
  rules: RuleBook;
}

export function readRepository(): ReferringFiles {
  const documents = filesWith((name) => name.endsWith('.md'), ['docs']);
  const reference = documents.filter((file) => file.startsWith('docs/reference/'));
  const rules = readRules(reference.map(readSource));
  return { files: filesWith(hasComments, [...FLOORS, 'examples']), documents, reference, rules };
}

export function allReferenceViolations(): string[] {
  const { files, documents, rules } = readRepository();
  return [
    ...files.flatMap((file) => referenceViolations(file, readSource(file), rules)),
    ...documents.flatMap((file) => documentViolations(file, readSource(file), rules)),
  ];
}

function unknownRules(text: string, { ids, cited }: RuleBook): string[] {
  return (text.match(cited) ?? []).filter((id) => !ids.includes(id));
}

function missingTargets(file: string, text: string): string[] {
  const own = text.match(OWN_PATH) ?? [];
  const linked = [...text.matchAll(LINK)].map(([, target = '']) => target.replace(/#.*$/, ''));
  const relative = [...(text.match(RELATIVE_PATH) ?? []), ...linked.filter((target) => target !== '')];
  return [
    ...own.filter((target) => !existsSync(path.join(ROOT, target))),
    ...relative.filter((target) => !existsSync(path.join(ROOT, path.dirname(file), target))),
  ];
}

/** Problem of a link in a document, or undefined. `source` is the document's text. */
export function linkFault(file: string, target: string, source = readSource(file)): string | undefined {
  const [place = '', anchor] = target.split('#');
  const linked = place === '' ? file : path.posix.join(path.posix.dirname(file), place);
  if (place !== '' && !existsSync(path.join(ROOT, linked))) return `${linked} does not exist`;
  if (anchor === undefined) return undefined;
  const anchors = anchorsOf(place === '' ? source : readSource(linked));
  return anchors.includes(anchor) ? undefined : `${linked} has no heading #${anchor}`;
}

export const FENCED_CODE = /^ *```.*?^ *```$/gms;

/** Anchors of a document: GitHub's for headings, and explicit ones. */
export function anchorsOf(text: string): string[] {
  const counts = new Map<string, number>();
  const found = text.replace(FENCED_CODE, '').matchAll(/^#{1,6} +(.+?) *$|<a id="([^"]*)">/gm);
  return [...found].map(([, heading = '', id]) => {
    if (id !== undefined) return id;
    const shown = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const anchor = shown
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-');
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

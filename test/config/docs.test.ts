/** The documentation stays true: its examples are valid, and the files, headings and commands that it names exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { REQUIRED_VARIABLES } from '../../infra/config/environment.ts';
import { checkConfiguration } from '../../infra/config/readFile.ts';
import { ROOT } from '../harness/spawn.ts';

const MAX_README_LINES = 150;
const FENCED_CODE = /^ *```.*?^ *```$/gms;
const INLINE_CODE = /`[^`\n]*`/g;
const NPM_SCRIPT = /(?:^ *|`)(?:[A-Z_]+=\S+ )*npm (?:run )?([a-z:]+)(?=[ `\n])/gm;

interface Page {
  /** Path from the root of the repository. */
  name: string;
  text: string;
}

const pages = readPages();
const examples = pages.flatMap(({ name, text }) =>
  capturesOf(text, /^ *```json\n(.*?)```/gms).map((example, at) => ({ page: name, at, example })),
);
const links = pages.flatMap(({ name, text }) => {
  const prose = text.replace(FENCED_CODE, '').replace(INLINE_CODE, '');
  const targets = capturesOf(prose, /\]\(([^)\s]+)\)/g).filter((target) => !/^[a-z]+:/.test(target));
  return [...new Set(targets)].map((target) => ({ page: name, target }));
});
const scripts = pages.flatMap(({ text }) => capturesOf(text, NPM_SCRIPT));

/** README and its neighbours, and everything below docs. */
function readPages(): Page[] {
  const isPage = (name: string) => name.endsWith('.md');
  const docs = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const names = [...readdirSync(ROOT), ...docs.map((name) => `docs/${name}`)].filter(isPage);
  return names.map((name) => ({ name, text: readFileSync(path.join(ROOT, name), 'utf8') }));
}

function capturesOf(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '');
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  const counts = new Map<string, number>();
  return capturesOf(text.replace(FENCED_CODE, ''), /^#{1,6} +(.+?) *$/gm).map((heading) => {
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

/** The problem with a link, or undefined. */
function findFault(page: string, target: string): string | undefined {
  const [file = '', anchor] = target.split('#');
  const linked = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
  if (!existsSync(path.join(ROOT, linked))) return `${linked} does not exist`;
  if (anchor === undefined) return undefined;
  const anchors = anchorsOf(pages.find(({ name }) => name === linked)?.text ?? '');
  return anchors.includes(anchor) ? undefined : `${linked} has no heading #${anchor}`;
}

test('the documentation has examples, links and commands', () => {
  expect([examples, links, scripts].every(({ length }) => length > 2)).toBe(true);
});

test('README is short', () => {
  const readme = pages.find(({ name }) => name === 'README.md')?.text ?? '';
  expect(readme).not.toBe('');
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(MAX_README_LINES);
});

test.each(examples)('$page: JSON example $at is a valid configuration', ({ page, example }) => {
  expect(() => checkConfiguration(JSON.parse(example), page)).not.toThrow();
});

test.each(links)('$page: the link $target resolves', ({ page, target }) => {
  expect(findFault(page, target)).toBeUndefined();
});

test('a broken link is found', () => {
  expect(findFault('docs/text.md', 'nowhere.md')).toBe('docs/nowhere.md does not exist');
  expect(findFault('docs/text.md', 'media.md#nowhere')).toBe('docs/media.md has no heading #nowhere');
  expect(findFault('docs/text.md', '#nowhere')).toBe('docs/text.md has no heading #nowhere');
});

test('a heading has the anchor that GitHub gives it', () => {
  const headings = '# A `quoted` word\n## Who [pays](x.md)?\n## Prices, limits\n## Prices, limits\n';
  const anchors = ['a-quoted-word', 'who-pays', 'prices-limits', 'prices-limits-1'];
  expect(anchorsOf(headings)).toEqual(anchors);
});

test.each([...new Set(scripts)])('npm %s is a script', (script) => {
  const { scripts: known } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  expect(Object.keys(known)).toContain(script);
});

test.each(REQUIRED_VARIABLES)('the required variable %s is named', (name) => {
  expect(pages.some(({ text }) => text.includes(`\`${name}\``))).toBe(true);
});

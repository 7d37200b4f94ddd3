/** Checks the documentation: examples are valid, and files, headings and commands that it names exist. */
import { expect, test } from 'vitest';
import { REQUIRED_VARIABLES } from '../../infra/config/environment.ts';
import { checkConfiguration } from '../../infra/config/readFile.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { anchorsOf, FENCED_CODE, linkFault } from '../architecture/references.ts';
import { filesWith, readSource } from '../architecture/sources.ts';

const MAX_README_LINES = 150;
const INLINE_CODE = /`[^`\n]*`/g;
const NPM_SCRIPT = /(?:^ *|`)(?:[A-Z_]+=\S+ )*npm (?:run )?([a-z:]+)(?=[ `\n])/gm;

/** Markdown files of the root folder and below docs, by their path from the root. */
const pages = filesWith((name) => name.endsWith('.md'), ['docs']).map((name) => ({
  name,
  text: readSource(name),
}));
const examples = pages.flatMap(({ name, text }) =>
  capturesOf(text, /^ *```json\n(.*?)```/gms).map((example, at) => ({ page: name, at, example })),
);
const links = pages.flatMap(({ name, text }) => {
  const prose = text.replace(FENCED_CODE, '').replace(INLINE_CODE, '');
  const targets = capturesOf(prose, /\]\(([^)\s]+)\)/g).filter((target) => !/^[a-z]+:/.test(target));
  return [...new Set(targets)].map((target) => ({ page: name, target }));
});
const scripts = pages.flatMap(({ text }) => capturesOf(text, NPM_SCRIPT));

function capturesOf(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '');
}

test('finds examples, links and commands in the documentation', () => {
  expect([examples, links, scripts].every(({ length }) => length > 2)).toBe(true);
});

test('keeps README short', () => {
  const readme = pages.find(({ name }) => name === 'README.md')?.text ?? '';
  expect(readme).not.toBe('');
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(MAX_README_LINES);
});

test.each(examples)('$page: JSON example $at is a valid configuration', ({ page, example }) => {
  expect(() => checkConfiguration(PROVIDERS, JSON.parse(example), page)).not.toThrow();
});

test.each(links)('$page: the link $target resolves', ({ page, target }) => {
  expect(linkFault(page, target)).toBeUndefined();
});

test('detects a broken link', () => {
  expect(linkFault('docs/text.md', 'nowhere.md')).toBe('docs/nowhere.md does not exist');
  expect(linkFault('docs/text.md', 'media.md#nowhere')).toBe('docs/media.md has no heading #nowhere');
  expect(linkFault('docs/text.md', '#nowhere')).toBe('docs/text.md has no heading #nowhere');
});

test('computes the anchor of a heading as GitHub does', () => {
  const headings = '# A `quoted` word\n## Who [pays](x.md)?\n## Prices, limits\n## Prices, limits\n';
  const anchors = ['a-quoted-word', 'who-pays', 'prices-limits', 'prices-limits-1'];
  expect(anchorsOf(headings)).toEqual(anchors);
});

test.each([...new Set(scripts)])('npm %s is a script', (script) => {
  const { scripts: known } = JSON.parse(readSource('package.json'));
  expect(Object.keys(known)).toContain(script);
});

test.each(REQUIRED_VARIABLES)('names the required variable %s', (name) => {
  expect(pages.some(({ text }) => text.includes(`\`${name}\``))).toBe(true);
});

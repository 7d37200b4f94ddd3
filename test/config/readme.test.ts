/** The README stays true: its examples are valid and the files and commands that it names exist. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { REQUIRED_VARIABLES } from '../../infra/config/environment.ts';
import { checkConfiguration } from '../../infra/config/readFile.ts';
import { ROOT } from '../harness/spawn.ts';

const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const examples = [...readme.matchAll(/```json\n(.*?)```/gs)].map((match) => match[1] ?? '');
const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map((match) => match[1] ?? '');
const scripts = [...readme.matchAll(/`npm (?:run )?([a-z:]+)[ `]/g)].map((match) => match[1] ?? '');

test('has examples, links and commands', () => {
  expect([examples.length, links.length, scripts.length].every((count) => count > 2)).toBe(true);
});

test.each(examples)('example %# is a valid configuration', (example) => {
  expect(() => checkConfiguration(JSON.parse(example), 'README.md')).not.toThrow();
});

test.each([...new Set(links)])('%s is there', (link) => {
  expect(existsSync(path.join(ROOT, link))).toBe(true);
});

test.each([...new Set(scripts)])('npm %s is a script', (script) => {
  const { scripts: known } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  expect(Object.keys(known)).toContain(script);
});

test.each(REQUIRED_VARIABLES)('the required variable %s is named', (name) => {
  expect(readme).toContain(`\`${name}\``);
});

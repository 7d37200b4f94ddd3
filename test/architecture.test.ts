/** Holds the architecture rules. Needs no service and runs in a second: part of `npm run check`. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { importCycles } from './architecture/cycles.ts';
import { readFacts } from './architecture/facts.ts';
import { ownTarget, violationsOf } from './architecture/rules.ts';
import { ROOT, readSource, sourceFiles } from './architecture/sources.ts';

const files = sourceFiles().map((file) => readFacts(file, readSource(file)));

describe('the repository', () => {
  test('has its floors at the expected paths', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(files.map((facts) => facts.path)).toEqual(expect.arrayContaining(['domain/money.ts', 'vitest.config.ts']));
  });

  test('keeps every rule of floors, sizes and banned calls', () => {
    expect(files.flatMap(violationsOf)).toEqual([]);
  });

  test('imports no missing file', () => {
    const missing = files.flatMap((facts) =>
      facts.imports.flatMap(({ line, specifier }) => {
        const target = specifier === undefined ? undefined : ownTarget(facts.path, specifier);
        const there = target === undefined || target.startsWith('dist/') || existsSync(path.join(ROOT, target));
        return there ? [] : [`${facts.path}:${line}: ${specifier}`];
      }),
    );
    expect(missing).toEqual([]);
  });

  test('has no import cycle', () => {
    expect(importCycles(files)).toEqual([]);
  });
});

function violations(file: string, source: string): string[] {
  return violationsOf(readFacts(file, source));
}

const lines = (count: number, line = 'x();') => Array.from({ length: count }, () => line).join('\n');

describe('detection of violations', () => {
  test.each([
    ['domain/a.ts', "import { z } from 'zod';", 'domain/ has no packages'],
    ['domain/a.ts', "import { readFileSync } from 'node:fs';", 'no node: modules'],
    ['domain/a.ts', "import { b } from '../infra/b.ts';", 'domain/ may import domain/ only'],
    ['domain/a.ts', "import type { B } from '../infra/b.ts';", 'domain/ may import domain/ only'],
    ['domain/a.ts', "type B = import('../infra/b.ts').B;", 'domain/ may import domain/ only'],
    ['domain/a.ts', "export { b } from '../api/b.ts';", 'domain/ may import domain/ only'],
    ['domain/a.ts', "import { b } from './b';", 'with the extension'],
    ['infra/s3/a.ts', "import { b } from '../../providers/b.ts';", 'infra/ may import domain/, engines/, infra/ only'],
    ['infra/s3/a.ts', "const b = await import('../../api/b.ts');", 'infra/ may import'],
    ['infra/s3/a.ts', 'const b = await import(name);', 'computed at run time'],
    ['engines/a/a.ts', "import { b } from '../../infra/http/b.ts';", 'engines/ may import domain/, engines/'],
    ['providers/p/a.ts', "import { b } from '../../infra/postgres/b.ts';", 'providers/ may import'],
    ['workflows/a.ts', "import { b } from '../activities/b.ts';", 'workflows/ may import'],
    ['workflows/a.ts', "import { z } from 'zod';", 'its place is'],
    ['workflows/a.ts', "import { randomUUID } from 'node:crypto';", 'no node: modules'],
    ['activities/a.ts', "import { b } from '../workflows/generation.ts';", 'activities/ may import'],
    ['api/jobs/a.ts', "import { b } from '../../activities/b.ts';", 'api/ may import'],
    ['api/jobs/a.ts', "import { b } from '../billing/b.ts';", 'do not import each other'],
    ['cli/a.ts', "import { b } from '../api/b.ts';", 'cli/ may import'],
    ['api/a.ts', "import { b } from '../test/b.ts';", 'api/ may import'],
    ['api/a.ts', "import pg from 'pg';", 'its place is infra/postgres/'],
    ['api/a.ts', "import { x } from 'left-pad';", 'a package without a place'],
    ['api/a.ts', "import { request } from 'undici';", 'its place is infra/http/'],
    ['api/a.ts', "import net from 'node:net';", 'one door'],
    ['api/a.ts', "import https from 'node:https';", 'one door'],
    ['api/a.ts', "const answer = await fetch('http://x');", 'fetch(): the outside world has one door'],
    ['api/a.ts', "const answer = await globalThis.fetch('http://x');", 'one door'],
    ['api/a.ts', "import server from 'node:http';\nserver.request('http://x');", 'api/a.ts:2: http.request'],
    ['api/a.ts', "import * as h from 'node:http';\nh['get']('http://x');", 'http.get'],
    ['api/a.ts', 'const port = process.env.PORT;', 'process.env: the environment is read by infra/config'],
    ['api/a.ts', "const port = process['env'];", 'process.env'],
    ['api/a.ts', "console.log('x');", 'console.log: log with infra/log.ts'],
    ['api/a.ts', 'export default 1;', 'export default: exports have names'],
    ['api/a.ts', 'const a = 1; export { a as default };', 'export default'],
    ['api/a.ts', "export * from './b.ts';", 'no barrels'],
    ['api/a.ts', 'const a: any = 1;', 'any: say the type'],
    ['api/a.ts', 'const a = b!.c;', 'non-null !'],
    ['domain/a.ts', 'const at = Date.now();', 'Date.now: rules and workflows have no clock'],
    ['domain/a.ts', 'const at = new Date();', 'new Date()'],
    ['workflows/a.ts', 'const id = Math.random();', 'Math.random'],
    ['workflows/a.ts', 'const id = crypto.randomUUID();', 'crypto.randomUUID'],
    ['domain/a.ts', 'setTimeout(() => undefined, 1);', 'never waits'],
    ['workflows/a.ts', 'let last = 0;', 'let of a module'],
    ['domain/a.ts', 'export let last = 0;', 'let of a module'],
    ['api/a.ts', 'let last = 0;', 'api/a.ts:1: let of a module: what changes is created at the start'],
    ['api/a.ts', 'export const seen = new Map<string, number>();', 'api/a.ts:1: state of a module'],
    ['api/a.ts', 'const known = new LRUCache<string, object>({ max: 64 });', 'state of a module'],
    ['api/a.ts', 'const known = new WeakMap();', 'state of a module'],
    ['api/a.ts', 'const guard = new TurnGuard();', 'state of a module'],
    ['api/a.ts', 'const turns = createSemaphore({ atOnce: 1 });', 'state of a module'],
    ['api/a.ts', 'const waiting: string[] = [];', 'state of a module'],
    ['api/a.ts', 'const counts: Record<string, number> = {};', 'state of a module'],
    ['api/a.ts', 'export class A {\n  static count = 0;\n}', 'api/a.ts:2: state of a module'],
    ['api/a.ts', lines(401), '401 lines, at most 400'],
    ['api/a.ts', `function f() {\n${lines(59)}\n}`, 'api/a.ts:1: a function of 61 lines, at most 60'],
    ['api/a.ts', `const f = () => {\n${lines(59)}\n};`, 'a function of 61 lines'],
    ['test/a.ts', `test('x', () => {\n${lines(59)}\n});`, 'a function of 61 lines'],
    ['api/a.ts', 'function f(a: 1, b: 1, c: 1, d: 1) {}', 'with 4 parameters, at most 3'],
    ['dev/launch/a.mjs', "import '../../api/main.ts';", 'a launcher loads what was built'],
  ])('%s: %#', (file, source, expected) => {
    expect(violations(file, source).join('\n')).toContain(expected);
  });

  test.each(["import { a } from '../a.ts';", "import type { a } from '../a.ts';", "type A = import('../a.ts').A;"])(
    'a circle of imports, also of types: %s',
    (last) => {
      const circle = [
        readFacts('infra/a.ts', "import { b } from './b.ts';"),
        readFacts('infra/b.ts', "import { c } from './deep/c.ts';"),
        readFacts('infra/deep/c.ts', last),
      ];
      expect(importCycles(circle)).toEqual([['infra/a.ts', 'infra/b.ts', 'infra/deep/c.ts']]);
      expect(importCycles(circle.slice(0, 2))).toEqual([]);
    },
  );

  test('counts lines, comment lines, types and functions', () => {
    const source = `/** Two
 * lines. */
export interface A {}
type B = 1; // One.
class C {}
const run = (list: number[]) => list.map((each) => each);
`;
    const facts = readFacts('api/a.ts', source);
    expect([facts.lines, facts.commentLines, facts.types]).toEqual([6, 3, ['A', 'B', 'C']]);
    expect(facts.functions.map(({ inline }) => inline).sort()).toEqual([false, true]);
  });

  test('throws for a file that does not parse', () => {
    expect(() => readFacts('api/a.ts', 'const = 1;')).toThrow('api/a.ts does not parse');
  });
});

describe('acceptance of allowed code', () => {
  test.each([
    ['a rule that uses rules', 'domain/a.ts', "import { b } from './deep/b.ts';\nconst day = new Date(at);"],
    ['types of activities', 'workflows/a.ts', "import type * as steps from '../activities/b.ts';"],
    ['state of a call', 'workflows/a.ts', 'const one = 1;\nfunction f() {\n  let last = one;\n}'],
    ['the workflow library', 'workflows/a.ts', "import { sleep } from '@temporalio/workflow';"],
    ['the contract', 'activities/a.ts', "import { b } from '../workflows/contract.ts';"],
    [
      'tables of a module',
      'api/a.ts',
      "const a = new Set(['x']);\nconst b: ReadonlyMap<1, 2> = new Map();\nconst c: readonly string[] = [];",
    ],
    ['state of an object', 'api/a.ts', 'function createA() {\n  const a = new Map();\n  let b = 0;\n}'],
    ['a memo that is listed', 'api/auth/signIn/signedText.ts', 'let kept: Promise<1> | undefined;'],
    ['shared folders', 'api/jobs/a.ts', "import { b } from '../auth/b.ts';\nimport { c } from './c.ts';"],
    ['the frame of the api', 'api/jobs/a.ts', "import { d } from '../route.ts';"],
    ['types of packages', 'api/a.ts', "import type pg from 'pg';\nimport { type Agent } from 'undici';"],
    ['serving HTTP', 'api/a.ts', "import http from 'node:http';\nhttp.createServer();"],
    ['a look at an address', 'api/a.ts', "import { isIP } from 'node:net';"],
    ['banned words in text', 'api/a.ts', '// fetch(), any\nconst text = "console.log(Date.now())";'],
    ['the door itself', 'infra/http/a.ts', "import { request } from 'undici';\nfetch('http://x');"],
    ['the reader of the environment', 'infra/config/a.ts', 'const environment = process.env;'],
    ['a long list of tests', 'test/a.test.ts', `describe('x', () => {\n${lines(99)}\n});`],
    ['a long table of tests', 'test/a.test.ts', `describe.each([1])('x', () => {\n${lines(99)}\n});`],
    ['a long table of data', 'domain/catalogue/a.ts', `export const table = [\n${lines(500, '1,')}\n];`],
    ['a launcher', 'dev/launch/a.mjs', "import { r } from './b.mjs';\nawait import('../../dist/api/main.js');"],
    ['a typed this', 'api/a.ts', 'function f(this: Date, a: 1, b: 1, c: 1) {}'],
  ])('%s', (_what, file, source) => {
    expect(violations(file, source)).toEqual([]);
  });
});

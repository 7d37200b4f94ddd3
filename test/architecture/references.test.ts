/** Checks that references in comments, test titles and documents resolve. Needs no service: part of `npm run check`. */
import { describe, expect, test } from 'vitest';
import { documentViolations, readRepository, readRules, referenceViolations } from './references.ts';
import { readSource } from './sources.ts';

const { files, documents, reference, rules } = readRepository();

describe('the rules of docs/reference', () => {
  test('are at the expected paths', () => {
    expect(rules.ids.length).toBeGreaterThan(150);
    expect(rules.ids).toEqual(expect.arrayContaining(['API-1', 'I5', 'CRASH-41']));
  });

  test('have unique ids', () => {
    expect(rules.ids.filter((id, index) => rules.ids.indexOf(id) !== index)).toEqual([]);
  });

  test('stand in the file that the index names for their prefix', () => {
    const index = readSource('docs/reference/README.md');
    const rows = index.split('\n').filter((line) => line.startsWith('| ['));
    const listed = rows.flatMap((row) => {
      const [, link = '', prefixes = ''] = row.split('|');
      const file = /\(([^)]+)\)/.exec(link)?.[1];
      return [...prefixes.matchAll(/`([A-Z]+)`/g)].map(([, prefix]) => `${file} ${prefix}`);
    });
    const found = reference.flatMap((file) => {
      const { ids } = readRules([readSource(file)]);
      return ids.map((id) => `${file.slice('docs/reference/'.length)} ${id.replace(/-?\d+$/, '')}`);
    });
    expect(new Set(found)).toEqual(new Set(listed));
  });
});

describe('references', () => {
  test('resolve in comments and test titles', () => {
    expect(files.length).toBeGreaterThan(1_000);
    expect(files.flatMap((file) => referenceViolations(file, readSource(file), rules))).toEqual([]);
  });

  test('resolve in documents', () => {
    expect(documents.flatMap((file) => documentViolations(file, readSource(file), rules))).toEqual([]);
  });
});

const PLANTED = readRules(['### API-1\nText.\n\n### I5\n| <a id="crash-2"></a>CRASH-2 | place |']);

describe('detection of violations', () => {
  test.each([
    ['api/a.ts', '/** Refuses it (API-2). */', 'api/a.ts:1: API-2: docs/reference has no such rule'],
    ['api/a.ts', 'f();\n// I4 and API-1.', 'api/a.ts:2: I4: docs/reference has no such rule'],
    ['api/a.ts', '/**\n * First line,\n * second: CRASH-1.\n */', 'CRASH-1'],
    ['test/a.test.ts', "it('refuses (API-3)', () => {});", 'API-3'],
    ['test/a.test.ts', "describe.each([1])('a rule (API-3): %s', () => {});", 'API-3'],
    ['test/a.test.ts', 'test.each`a`(`a rule (API-3)`, () => {});', 'API-3'],
    ['infra/postgres/a.ts', "const rule = { name: 'I6 a charge took its price' };", 'I6'],
    ['infra/a.sql', 'select 1; -- usage (API-4)', 'infra/a.sql:1: API-4'],
    ['infra/a.yml', 'a: 1 # limits (API-5)', 'API-5'],
    ['infra/deploy/Dockerfile', '# API-6', 'API-6'],
    ['test/a.sol', '/// API-7', 'API-7'],
    ['api/a.ts', '// Bounds of api-facts 4.2.', 'not in the repository'],
    ['api/a.ts', '// Refused (specification 4.5, rule 2).', 'not in the repository'],
    ['api/a.ts', '// Specification part 8.', 'not in the repository'],
    ['api/a.ts', '/** In the order\n * of the\n * specification. */', 'the specification'],
    ['api/a.ts', '// Reliability C.4, 31 to 34.', 'not in the repository'],
    ['api/a.ts', '// A guarded way out (reliability S9).', 'not in the repository'],
    ['api/a.ts', '// See reliability.md, finding 6.', 'not in the repository'],
    ['api/a.ts', "// By the names of the operator's contract.", 'not in the repository'],
    ['api/a.ts', '// A paid request (design: hold, call, settle).', 'not in the repository'],
    ['api/a.ts', '// See temporal.md.', 'not in the repository'],
    ['api/a.ts', '// The counts that an issue names.', 'not in the repository'],
    ['api/a.ts', '// As issue 21 wants it.', 'not in the repository'],
    ['api/a.ts', '// One sentence for every cause (S6).', 'not in the repository'],
    ['test/a.test.ts', "test('the specification is kept', () => {});", 'not in the repository'],
    ['api/a.ts', '// docs/nothing.md says why.', 'api/a.ts:1: docs/nothing.md: leads nowhere'],
    ['api/a.ts', '// The table is in domain/nothing.ts.', 'domain/nothing.ts: leads nowhere'],
    ['api/a.ts', '// As in ./nothing.ts.', './nothing.ts: leads nowhere'],
    ['api/a.ts', '// See [the index](../docs/reference/NOTHING.md).', 'leads nowhere'],
  ])('%s: %#', (file, source, expected) => {
    expect(referenceViolations(file, source, PLANTED).join('\n')).toContain(expected);
  });

  test.each([
    ['docs/a.md', 'One rule (API-9).', 'docs/a.md:1: API-9'],
    ['docs/a.md', '[words](nothing.md)', 'nothing.md: leads nowhere'],
    ['docs/a.md', '# A heading\n\n[words](#another-heading)', 'docs/a.md:3: #another-heading'],
  ])('%s: %#', (file, source, expected) => {
    expect(documentViolations(file, source, PLANTED).join('\n')).toContain(expected);
  });

  test('throws for an anchor of a table that is not its id', () => {
    expect(() => readRules(['| <a id="crash-3"></a>CRASH-2 | place |'])).toThrow('CRASH-2');
  });
});

describe('acceptance of allowed references', () => {
  test.each([
    ['a rule', 'api/a.ts', '/** Refuses it (API-1, CRASH-2). I5 holds. */'],
    ['words beside a comment', 'api/a.ts', "const text = 'API-2, api-facts 4.2, docs/nothing.md';"],
    ['other numbers', 'api/a.ts', '// EIP-191, ERC-20, CAIP-122, S3, H264, RFC 8032 and JSON-RPC 2.0.'],
    ['a named standard', 'api/a.ts', '// Sources: the Starknet RPC specification (finality).'],
    ['a file of ours', 'api/a.ts', '// test/architecture/floors.ts, ../README.md, docs/reference.'],
    ['a file of others', 'api/a.ts', '// fal-ai/fal-js, libs/client/src/api/types.ts.'],
    ['a link to elsewhere', 'api/a.ts', '// [RFC](https://www.rfc-editor.org/rfc/rfc9110).'],
    ['code in SQL', 'infra/a.sql', "select 'API-2';"],
  ])('%s', (_what, file, source) => {
    expect(referenceViolations(file, source, PLANTED)).toEqual([]);
  });

  test('accepts a link within a document, to its heading or to its anchor', () => {
    const text = '## Where `money` is\n<a id="i5"></a>\n[one](#where-money-is) [two](#i5) [web](https://a.b)';
    expect(documentViolations('docs/a.md', text, PLANTED)).toEqual([]);
  });
});

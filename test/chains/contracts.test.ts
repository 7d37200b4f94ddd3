import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { compileContracts } from '../../dev/launch/contracts.mjs';
import { ROOT } from '../harness/spawn.ts';

test('compiling the contracts yields exactly the committed files', () => {
  const compiled = compileContracts();
  expect(compiled.size).toBeGreaterThan(8);
  for (const [file, text] of compiled) expect(readFileSync(`${ROOT}${file}`, 'utf8') === text, file).toBe(true);
});

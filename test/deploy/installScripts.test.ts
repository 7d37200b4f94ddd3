/** Packages run no script of their own when they are installed: it would run with all that the operator may do. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../harness/spawn.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

test.each(['.ci/run', 'infra/deploy/Dockerfile', 'dev/launch/ready.mjs', 'dev/stack/sources/npmPackage.ts'])(
  '%s installs without scripts',
  (file) => {
    const installs = read(file)
      .split('\n')
      .filter((line) => /^(RUN|twice) npm ci|\['ci', '--|flags = \['--/.test(line.trim()));
    expect(installs.length).toBeGreaterThan(0);
    for (const line of installs) expect(line).toContain('--ignore-scripts');
  },
);

/** A look at the version, a report of use, and a fallback for machines without a built file. */
const NEEDLESS = ['@scarf/scarf', '@swc/core', 'protobufjs'];

test('the packages that have an install script are known to work without it', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  const names = Object.entries(packages).flatMap(([place, { hasInstallScript }]) =>
    hasInstallScript ? place.replace(/^.*node_modules\//, '') : [],
  );
  expect(names.sort()).toEqual(NEEDLESS);
});

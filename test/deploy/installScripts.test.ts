/** Packages run no install scripts, because these would run with the operator's rights. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../harness/spawn.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

test.each(['.ci/run', 'infra/deploy/Dockerfile', 'dev/launch/ready.mjs', 'dev/stack/sources/npmPackage.ts'])(
  '%s installs packages without scripts',
  (file) => {
    const installs = read(file)
      .split('\n')
      .filter((line) => /^(RUN|twice) npm ci|\['ci', '--|flags = \['--/.test(line.trim()));
    expect(installs.length).toBeGreaterThan(0);
    for (const line of installs) expect(line).toContain('--ignore-scripts');
  },
);

/** They check a version, report usage, or build a fallback for machines without a prebuilt file. */
const NEEDLESS = ['@scarf/scarf', '@swc/core', 'protobufjs'];

test('allows install scripts only in packages that work without them', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  const names = Object.entries(packages).flatMap(([place, { hasInstallScript }]) =>
    hasInstallScript ? place.replace(/^.*node_modules\//, '') : [],
  );
  expect(names.sort()).toEqual(NEEDLESS);
});

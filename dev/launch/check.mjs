/**
 * `npm run check`: runs all checks, whichever fails: types, lint and format, unused code, architecture.
 * `npm run check -- --numbers` prints sizes of the floors and targets, with `--list` also what a missed target counts.
 * `npm run check -- --sample <revision>` prints a sample of comments and test titles, seeded by its hash.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ready, say } from './ready.mjs';
import { ROOT } from './root.mjs';

const CHECKS = {
  types: ['typescript/bin/tsc', '-p', 'tsconfig.json'],
  'lint and format': ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings'],
  'unused code': ['knip/bin/knip.js', '--no-progress'],
  architecture: [
    'vitest/vitest.mjs',
    'run',
    'test/architecture.test.ts',
    'test/architecture/references.test.ts',
    'test/architecture/performance.test.ts',
  ],
};

await ready({ builds: false });
if (process.argv.includes('--numbers')) {
  const { printNumbers } = await load('numbers');
  printNumbers({ deadExports: findDeadExports(), lists: process.argv.includes('--list') });
} else if (process.argv.includes('--sample')) {
  const { sampleOf } = await load('sample');
  say(sampleOf(process.argv[process.argv.indexOf('--sample') + 1] ?? 'HEAD'));
} else check();

function check() {
  const failed = Object.entries(CHECKS).filter(([, [program, ...args]]) => {
    const tool = path.join(ROOT, 'node_modules', program);
    return spawnSync(process.execPath, [tool, ...args], { cwd: ROOT, stdio: 'inherit' }).status !== 0;
  });
  say(failed.length === 0 ? 'check passed' : `check failed: ${failed.map(([name]) => name).join(', ')}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** Bundles the script, because Node 20 cannot run TypeScript. */
async function load(name) {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({ cwd: ROOT, input: `test/architecture/${name}.ts`, external: /^[^./]/ });
  const file = path.join(ROOT, `dist/test/${name}.mjs`);
  await bundle.write({ file });
  return import(file);
}

function findDeadExports() {
  const knip = path.join(ROOT, 'node_modules/knip/bin/knip.js');
  const args = [knip, '--no-exit-code', '--reporter', 'json', '--include', 'exports,types'];
  const { stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  const namesIn = ({ file, exports, types }) => [...exports, ...types].map(({ name }) => `${file}: ${name}`);
  return JSON.parse(stdout).issues.flatMap(namesIn);
}

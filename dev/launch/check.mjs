/** `npm run check`: types, lint and format, architecture. All three are run, whichever fails. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { ready, say } from './ready.mjs';
import { ROOT } from './root.mjs';

const CHECKS = {
  types: ['typescript/bin/tsc', '-p', 'tsconfig.json'],
  'lint and format': ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings'],
  architecture: [
    'vitest/vitest.mjs',
    'run',
    'test/architecture.test.ts',
    'test/architecture/references.test.ts',
  ],
};

await ready({ builds: false });
const failed = Object.entries(CHECKS).filter(([, [program, ...args]]) => {
  const tool = path.join(ROOT, 'node_modules', program);
  return spawnSync(process.execPath, [tool, ...args], { cwd: ROOT, stdio: 'inherit' }).status !== 0;
});
say(failed.length === 0 ? 'check passed' : `check failed: ${failed.map(([name]) => name).join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

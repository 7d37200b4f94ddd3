/**
 * `npm run check:python`: tests a running API with the official Python package `openai`. The package is installed once,
 * by hash, into a virtual environment in the cache folder. Needs Python 3.10 or later (`PYTHON` selects another one)
 * and at first the Python package registry. Exits with 0 only on success.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { withLock } from './lock.mjs';
import { ready, say } from './ready.mjs';
import { lockFile, ROOT } from './root.mjs';

const REQUIREMENTS = path.join(ROOT, 'test/sdk/python/requirements.txt');

await ready();
try {
  const python = await installed();
  process.exitCode = check(python);
} catch (error) {
  say(`check:python failed: ${error.message}`);
  process.exitCode = 1;
}

/** Interpreter with the package. */
async function installed() {
  const base = process.env.PYTHON || 'python3';
  const version = run(base, ['-c', 'import sys; print(sys.version); assert sys.version_info >= (3, 10)']);
  const wanted = createHash('sha256').update(version).update(readFileSync(REQUIREMENTS)).digest('hex');
  const cache = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
  const folder = path.join(cache, 'farebox', `python-sdk-${wanted.slice(0, 12)}`);
  const python = path.join(folder, 'bin', 'python');
  const complete = path.join(folder, '.complete');
  await withLock(lockFile('python'), () => {
    if (existsSync(complete)) return;
    say('installing the Python package openai');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(path.dirname(folder), { recursive: true });
    run(base, ['-m', 'venv', folder]);
    run(python, [
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
      ...['--require-hashes', '--only-binary=:all:', '-r', REQUIREMENTS],
    ]);
    writeFileSync(complete, '');
  });
  return python;
}

/** Returns the standard output. Throws with the error output on any exit code but 0. */
function run(program, args) {
  const { status, error, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (error) throw new Error(`${program} cannot be started: ${error.message}`);
  if (status !== 0) throw new Error(`${program} ${args.slice(0, 3).join(' ')} ended with ${status}:\n${stderr}`);
  return stdout;
}

function check(python) {
  const vitest = path.join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--config', 'test/vitestPython.config.ts'], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, FAREBOX_CHECK_PYTHON: python },
  });
  return status ?? 1;
}

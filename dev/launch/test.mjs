/**
 * `npm test [-- --long] [-- filter …]`: runs every test and prints `N passed, N failed` as the last line. `--long` runs
 * the full counts. Other arguments go to vitest (a file name is a filter).
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ready } from './ready.mjs';
import { ROOT } from './root.mjs';

await ready();
const folder = mkdtempSync(path.join(os.tmpdir(), 'farebox-results-'));
const results = path.join(folder, 'results.json');
const code = await vitest(process.argv.slice(2));
const { passed, failed } = count();
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function vitest(args) {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`];
  const filters = args.filter((arg) => arg !== '--long');
  const env = { ...process.env, ...(args.includes('--long') && { FAREBOX_TEST_LONG: '1' }) };
  const program = path.join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(process.execPath, [program, 'run', ...reporters, ...filters], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  // The child stops its real parts. This process only waits for that.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.once('close', (status) => resolve(status ?? 1)));
}

/** A file that cannot be loaded, or an error outside every test, counts as one failure. */
function count() {
  let report;
  try {
    report = JSON.parse(readFileSync(results, 'utf8'));
  } catch {
    return { passed: 0, failed: 1 };
  }
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = report.numFailedTests + brokenFiles.length;
  return { passed: report.numPassedTests, failed: failed === 0 && code !== 0 ? 1 : failed };
}

/**
 * Builds `dist/` when a source is newer: compiles, copies other files, bundles packages and workflows. Run directly, it
 * builds. Imported, `build()` does the same.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';
import { lockFile, ROOT } from './root.mjs';

const DIST = path.join(ROOT, 'dist');
const STAMP = path.join(DIST, '.built');
const WORKFLOWS = 'workers/workflows.bundle.js';
const WORKFLOWS_STAMP = path.join(DIST, '.workflows');
/** All sources of the workflows, which import nothing else of ours (architecture test). */
const OF_WORKFLOWS = /^(domain|workflows)\/|^workers\/bundle\.ts$/;
const FLOORS = [
  'domain',
  'engines',
  'infra',
  'providers',
  'workflows',
  'activities',
  'workers',
  'api',
  'cli',
  'dev',
  'bench',
];
const TEST_FOLDERS = ['test/stubs', 'test/harness'];
const SETTINGS = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
/** Files that are not read from dist/ at run time. */
const NOT_COPIED = new Set(['.ts', '.mts']);

/** Builds if needed. Concurrent calls build once. `say` gets one line when a build starts. */
export async function build(say = () => undefined) {
  if (holds(STAMP, fingerprint(sourceFiles()))) return;
  await withLock(lockFile('build'), async () => {
    const sources = fingerprint(sourceFiles());
    if (holds(STAMP, sources)) return;
    say('building dist/');
    rmSync(STAMP, { force: true });
    removeStale();
    // `npm run check` checks types. A start of the service does not wait for that.
    node([tsc(), '-p', path.join(ROOT, 'tsconfig.build.json'), '--noCheck']);
    for (const file of assets()) copy(file);
    // Imported here, because launchers load this file even before packages are installed.
    const { bundlePackages } = await import('./bundlePackages.mjs');
    await bundlePackages(compiledFiles());
    bundleWorkflows();
    writeFileSync(path.join(DIST, 'build.json'), `${JSON.stringify({ version: versionOf(new Date()) })}\n`);
    writeFileSync(STAMP, sources);
  });
}

/** `YYYYMMDD.HHMMSS` in UTC. */
function versionOf(moment) {
  return moment.toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '.');
}

function holds(stamp, sources) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sources;
}

/** Hash of names, sizes and times: faster than hashing contents, and sufficient. */
function fingerprint(files) {
  const hash = createHash('sha256');
  for (const file of [...files, ...SETTINGS].sort()) {
    const { mtimeMs, size } = statSync(path.join(ROOT, file));
    hash.update(`${file}\0${mtimeMs}\0${size}\n`);
  }
  return hash.digest('hex');
}

function sourceFiles() {
  return [...FLOORS, ...TEST_FOLDERS].flatMap((folder) => filesUnder(folder));
}

/** Empty for a missing folder: the container image is built without benches and test tools. */
function filesUnder(folder) {
  if (!existsSync(path.join(ROOT, folder))) return [];
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name)));
}

function assets() {
  return sourceFiles().filter((file) => !NOT_COPIED.has(path.extname(file)));
}

/** Paths relative to dist/. */
function compiledFiles() {
  return sourceFiles()
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => file.replace(/\.ts$/, '.js'));
}

function copy(file) {
  const target = path.join(DIST, file);
  mkdirSync(path.dirname(target), { recursive: true });
  cpSync(path.join(ROOT, file), target);
}

/** Removes output of deleted sources, which would still be imported or run as a migration. */
function removeStale() {
  const sources = new Set(sourceFiles());
  for (const folder of [...FLOORS, ...TEST_FOLDERS]) {
    for (const file of filesUnder(path.join('dist', folder))) {
      const source = path.relative('dist', file);
      if (source === WORKFLOWS) continue;
      const typescript = source.replace(/\.js(\.map)?$/, '.ts');
      if (!sources.has(source) && !sources.has(typescript)) rmSync(path.join(ROOT, file));
    }
  }
}

/** Takes over a second and is rarely needed, because most changes affect other floors. */
function bundleWorkflows() {
  const sources = fingerprint(sourceFiles().filter((file) => OF_WORKFLOWS.test(file)));
  if (existsSync(path.join(DIST, WORKFLOWS)) && holds(WORKFLOWS_STAMP, sources)) return;
  node([path.join(DIST, 'workers', 'bundle.js')]);
  writeFileSync(WORKFLOWS_STAMP, sources);
}

/** Prints nothing on success. Throws with the output of a failed command. */
function node(args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the build failed: node ${args.join(' ')}\n${stdout}${stderr}`);
}

function tsc() {
  return path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
}

if (process.argv[1] && fileURLToPath(import.meta.url) === realpathSync(process.argv[1])) {
  await build().catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}

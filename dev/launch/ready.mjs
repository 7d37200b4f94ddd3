/** Prepares a clone to run: checks Node, installs npm packages, builds. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { build } from './build.mjs';
import { withLock } from './lock.mjs';
import { lockFile, ROOT } from './root.mjs';

const LOCKFILE = path.join(ROOT, 'package-lock.json');
/** npm writes this file last, so an interrupted install lacks it. */
const INSTALLED = path.join(ROOT, 'node_modules', '.package-lock.json');
const SAY_EVERY_MS = 10_000;

/** Hides the S3 client's warning about future Node requirements. package.json has the current one. */
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';

/** Installs and builds if needed. Ends the process with a message on failure. */
export async function ready({ builds = true } = {}) {
  try {
    checkNode();
    await install();
    if (builds) await build(say);
  } catch (error) {
    say(error.message);
    process.exit(1);
  }
}

function checkNode() {
  const wanted = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).engines.node.replace('>=', '');
  if (compare(process.versions.node, wanted) >= 0) return;
  throw new Error(`Node ${wanted} or later is needed; this is ${process.versions.node}`);
}

function compare(left, right) {
  const parts = (version) => version.split('.').map(Number);
  const [a, b] = [parts(left), parts(right)];
  return a[0] - b[0] || (a[1] ?? 0) - (b[1] ?? 0) || (a[2] ?? 0) - (b[2] ?? 0);
}

async function install() {
  if (isInstalled()) return;
  const onWait = () => say('another process is installing the npm packages; waiting for it');
  await withLock(lockFile('install'), installOnce, { onWait });
}

function isInstalled() {
  return existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(LOCKFILE).mtimeMs;
}

async function installOnce() {
  if (isInstalled()) return;
  say('installing the npm packages of package-lock.json (npm ci)');
  const first = await npmCi();
  if (first.code === 0) return;
  say('npm ci failed; trying once more');
  const second = await npmCi();
  if (second.code === 0) return;
  throw new Error(`npm ci failed twice:\n${second.output.trim()}`);
}

function npmCi() {
  // The compiler is a development package, so these are installed under NODE_ENV=production too. No package needs its
  // install script.
  const args = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  const child = spawn('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const startedAt = Date.now();
  const timer = setInterval(() => {
    say(`installing … ${Math.round((Date.now() - startedAt) / 1_000)} s so far`);
  }, SAY_EVERY_MS);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes) => {
      output = (output + bytes).slice(-20_000);
    });
  }
  return new Promise((resolve) => {
    const finish = (code) => {
      clearInterval(timer);
      resolve({ code, output });
    };
    child.once('error', (error) => {
      output += error.message;
      finish(-1);
    });
    child.once('close', finish);
  });
}

/** Writes to stderr, so that stdout stays machine-readable. */
export function say(text) {
  process.stderr.write(`${text}\n`);
}

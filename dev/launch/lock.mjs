/**
 * Mutual exclusion between processes by a lock file with the holder's identity, so that a dead holder's lock can be
 * taken. Plain JavaScript, because launchers use it before anything is installed or built.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify, isAlive } from './processIdentity.mjs';

const ATTEMPTS = 20;

/** Runs `work` under the lock. Waits up to `timeoutMs` for another holder, and takes the lock of a dead one. */
export async function withLock(file, work, { timeoutMs = 20 * 60_000, onWait } = {}) {
  mkdirSync(path.dirname(file), { recursive: true });
  const deadline = Date.now() + timeoutMs;
  for (let waited = false; ; waited = true) {
    const holder = tryLock(file);
    if (holder === undefined) break;
    if (!waited) onWait?.(holder);
    if (Date.now() > deadline) throw new Error(`${file} is still held by process ${holder.pid}`);
    await sleep(100);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** Takes the lock, or returns its holder. */
export function tryLock(file, details = {}) {
  const mine = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(mine, JSON.stringify({ ...identify(process.pid), ...details }), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (linked(mine, file)) return undefined;
      const text = read(file);
      const holder = parse(text);
      if (holder !== undefined && isAlive(holder)) return holder;
      if (text !== undefined) takeAway(file, text);
    }
    return parse(read(file)) ?? { pid: 0, started: '' };
  } finally {
    rmSync(mine, { force: true });
  }
}

function linked(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    if (error.code === 'EPERM' || error.code === 'ENOTSUP') return created(to, readFileSync(from));
    throw error;
  }
}

/** Fallback for file systems without hard links. */
function created(file, content) {
  try {
    writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes the file of a dead holder. Restores it if a new holder has written it meanwhile. */
function takeAway(file, expected) {
  const aside = `${file}.dead.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (read(aside) !== expected) linked(aside, file);
  rmSync(aside, { force: true });
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function parse(text) {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

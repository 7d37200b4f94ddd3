/**
 * One at a time across processes: a lock file that names its holder. Plain JavaScript, since the launchers use it
 * before anything is installed or built.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Runs `work` while holding the lock, waiting for another holder up to `timeoutMs`; a dead holder's lock is taken. */
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

/** Takes the lock, or says who holds it. */
export function tryLock(file, details = {}) {
  const mine = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(mine, JSON.stringify({ ...identify(process.pid), ...details }), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      if (linked(mine, file)) return undefined;
      const text = read(file);
      const holder = parse(text);
      if (holder !== undefined && isAlive(holder)) return holder;
      if (text !== undefined) takeAway(file, text);
    }
    return parse(read(file)) ?? { pid: 0 };
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
    throw error;
  }
}

/** Removes a dead holder's file; when a living one's was caught instead, it is put back. */
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

/** A process named so that a reused process id is never mistaken for it: see infra/stack/identity.ts. */
export function identify(pid) {
  return { pid, started: startOf(pid) };
}

export function isAlive({ pid, started }) {
  const now = startOf(pid);
  return now !== undefined && now === started;
}

function startOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return startWithoutProc(pid);
  // The command name, in parentheses, may hold spaces: fields are counted after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return `${read('/proc/sys/kernel/random/boot_id')?.trim()}:${fields[19]}`;
}

function startWithoutProc(pid) {
  if (process.platform === 'linux') return undefined;
  try {
    process.kill(pid, 0);
    return '';
  } catch (error) {
    return error.code === 'EPERM' ? '' : undefined;
  }
}

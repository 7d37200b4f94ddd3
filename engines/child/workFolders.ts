/**
 * Private temporary folders. Their names identify the owning process, so that a later process can sweep folders of a
 * dead one, even after its process id was reused.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, rmdir, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';

export interface WorkFolders {
  readonly root: string;
  create(): Promise<string>;
  /** Removes a folder made by `create` with its contents. Repeated or failed removals are no error. */
  remove(folder: string): Promise<void>;
  /** Resolves when all pending removals are over, because some callers do not await theirs. */
  settled(): Promise<void>;
  /** Removes folders of this machine's dead processes. */
  sweep(): Promise<void>;
}

export function workFolders(root: string): WorkFolders {
  const absolute = resolve(root);
  const own = `${machine()}.${process.pid}.${startOf(statOfSelf())}`;
  const removals = new Set<Promise<void>>();
  return {
    root: absolute,
    async create() {
      const folder = join(absolute, `${own}.${randomUUID()}`);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
    remove(folder) {
      // A failed removal is left to the sweep of a later process.
      const removal = removeFlat(folder)
        .catch(() => rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 50 }))
        .catch(() => undefined)
        .finally(() => removals.delete(removal));
      removals.add(removal);
      return removal;
    },
    async settled() {
      await Promise.all(removals);
    },
    async sweep() {
      const names = await readdir(absolute).catch(() => [] as string[]);
      for (const name of names) {
        if (await isOrphan(name)) await rm(join(absolute, name), { recursive: true, force: true });
      }
    },
  };
}

/** Most folders hold one or two files: this needs a third of the calls of a recursive removal. */
async function removeFlat(folder: string): Promise<void> {
  const names = await readdir(folder);
  await Promise.all(names.map((name) => unlink(join(folder, name))));
  await rmdir(folder);
}

/** Containers may share the disk but not process ids, so each sweeps only its own folders. */
function machine(): string {
  return hostname().replace(/[^\w-]/g, '_') || 'machine';
}

async function isOrphan(name: string): Promise<boolean> {
  const [owner, pid, start, id] = name.split('.');
  if (owner !== machine() || pid === undefined || id === undefined || !/^\d+$/.test(pid)) return false;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat !== undefined) return startOf(stat) !== start;
  return !isAlive(Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function statOfSelf(): string {
  try {
    return readFileSync('/proc/self/stat', 'utf8');
  } catch {
    return '';
  }
}

/** Start time, field 22 of the process's stat. Field 2, the name, may contain spaces but ends with the last bracket. */
function startOf(stat: string): string {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
}

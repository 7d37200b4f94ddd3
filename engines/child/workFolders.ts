/**
 * Private temporary folders. Their names say whose they are, so that those of a process that died can be swept by the next
 * one, also when its process id has been given to somebody else since.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, rmdir, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';

export interface WorkFolders {
  readonly root: string;
  create(): Promise<string>;
  /** Removes a folder made by `create` with all that is in it; removing it again, or in vain, is no error. */
  remove(folder: string): Promise<void>;
  /** Resolves when the removals under way are over; not everybody waits for his own. */
  settled(): Promise<void>;
  /** Removes the folders of this machine's processes that are no more. */
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
      // What cannot be removed now is left for the sweep of a later process.
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

/** The usual folder holds a file or two: a third of the calls that a removal of any tree needs. */
async function removeFlat(folder: string): Promise<void> {
  const names = await readdir(folder);
  await Promise.all(names.map((name) => unlink(join(folder, name))));
  await rmdir(folder);
}

/** Two containers may share the disk but not the process ids: each sweeps its own only. */
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

/** Field 22 of the process's stat, the start time; its name, field 2, may hold spaces but ends with the last bracket. */
function startOf(stat: string): string {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
}

/** Source that fills a folder of the cache atomically, by one process at a time. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from '../launch/lock.mjs';
import { isExecutable } from './onPath.ts';
import type { ObtainContext, Source } from './recipe.ts';

/** A process that was just stopped may still write a last file. */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };

export interface CacheSource {
  name: string;
  /** Text for the operator meanwhile. */
  doing: string;
  /** Folder in the cache. Its name contains the version, so that a new version is obtained. */
  folder: string;
  /** Path of the program, relative to that folder. */
  program: string;
  /** Fills an empty folder. Throws with the reason. `possible` runs first, to avoid a needless progress line. */
  fill(folder: string, context: ObtainContext): Promise<void>;
  possible?(context: ObtainContext): Promise<void>;
}

export function intoCache(source: CacheSource): Source {
  const cachedAt = (cache: string) => path.join(cache, source.folder, source.program);
  return {
    name: source.name,
    cachedAt,
    async obtain(context) {
      await source.possible?.(context);
      mkdirSync(context.cache, { recursive: true });
      const lock = path.join(context.cache, `.${source.folder}.lock`);
      const onWait = (holder: { pid: number }) =>
        context.progress.say(`waiting for process ${holder.pid}, which is ${source.doing}`);
      await withLock(lock, () => fillOnce(source, context), { onWait });
      return cachedAt(context.cache);
    },
  };
}

async function fillOnce(source: CacheSource, context: ObtainContext): Promise<void> {
  const target = path.join(context.cache, source.folder);
  if (await isUsable(path.join(target, source.program), context)) return;
  const prefix = `.partial-${source.folder}-`;
  for (const name of readdirSync(context.cache).filter((entry) => entry.startsWith(prefix))) {
    await rm(path.join(context.cache, name), REMOVAL);
  }
  const partial = path.join(context.cache, `${prefix}${process.pid}`);
  const removePartial = () => rmSync(partial, REMOVAL);
  process.once('exit', removePartial);
  try {
    mkdirSync(partial);
    await context.progress.during(source.doing, () => source.fill(partial, context));
    await context.accept(path.join(partial, source.program));
    if (existsSync(target)) renameSync(target, path.join(context.cache, `${prefix}old`));
    renameSync(partial, target);
  } finally {
    process.off('exit', removePartial);
    await rm(partial, REMOVAL);
    await rm(path.join(context.cache, `${prefix}old`), REMOVAL);
  }
}

/** True when another process obtained it while this one waited for the lock. */
async function isUsable(program: string, context: ObtainContext): Promise<boolean> {
  if (!isExecutable(program)) return false;
  return context.accept(program).then(
    () => true,
    () => false,
  );
}

/** Folder of a tool's pinned manifests. The build copies them, so the path is valid for compiled code too. */
export function toolFolder(tool: string): string {
  return fileURLToPath(new URL(`../../infra/deploy/tools/${tool}`, import.meta.url));
}

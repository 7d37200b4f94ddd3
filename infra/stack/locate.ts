/** Interim: PATH and cache only. */
import path from 'node:path';
import { isExecutable, onPath } from './onPath.ts';
import type { FoundProgram, PartName } from './part.ts';

export function cacheFolder(environment: NodeJS.ProcessEnv): string {
  const base = environment.XDG_CACHE_HOME || path.join(environment.HOME ?? '/tmp', '.cache');
  return path.join(base, 'farebox');
}

export async function locate(name: PartName, environment: NodeJS.ProcessEnv): Promise<FoundProgram> {
  const cache = cacheFolder(environment);
  const binary = { s3: 'versitygw', redis: 'redis-server' }[name as string] ?? name;
  const found = onPath(binary, environment.PATH);
  if (found) return { path: found, origin: 'PATH' };
  const cached: Record<string, FoundProgram> = {
    temporal: { path: path.join(cache, 'temporal-cli-1.5.0/temporal'), origin: 'cache' },
    s3: { path: path.join(cache, 'versitygw-1.7.0/versitygw'), origin: 'cache' },
    redis: {
      path: path.join(cache, 'redis-debian/root/usr/bin/redis-check-rdb'),
      argv0: 'redis-server',
      env: { LD_LIBRARY_PATH: path.join(cache, 'redis-debian/root/usr/lib/x86_64-linux-gnu') },
      origin: 'cache',
    },
  };
  const program = cached[name];
  if (program && isExecutable(program.path)) return program;
  throw new Error(`${name} not found`);
}

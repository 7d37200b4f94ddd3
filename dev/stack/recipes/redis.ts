import type { Recipe } from '../recipe.ts';
import { versionOf } from '../recipe.ts';
import { aptInstall, debianPackage } from '../sources/debian.ts';

/**
 * Debian's redis-tools contains the server: one program acts by the name it is started with. So the unpacked program is
 * started as the server.
 */
export const redisRecipe: Recipe = {
  part: 'redis',
  title: 'Redis',
  variable: 'REDIS_URL',
  variableMeans: 'the URL of a Redis that runs already (redis://host:6379)',
  commands: ['redis-server', 'valkey-server'],
  async accept(program) {
    const version = await versionOf(program);
    if (!/server v=/i.test(version)) throw new Error(`it is no server: "${version.slice(0, 100)}"`);
  },
  sources: [
    debianPackage(
      {
        package: 'redis-tools',
        folder: 'redis-debian',
        programs: { 'redis-server': 'usr/bin/redis-check-rdb' },
      },
      'redis-server',
    ),
    aptInstall('redis-server', 'redis-server'),
  ],
};

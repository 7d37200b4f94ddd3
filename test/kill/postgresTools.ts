/** Postgres programs that dump and restore a database. */
import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { locateParts } from '../../dev/stack/locate.ts';
import { onPath } from '../../dev/stack/onPath.ts';
import { silentProgress } from '../../dev/stack/progress.ts';
import { processEnvironment } from '../../infra/config/environment.ts';

type PostgresTool = 'pg_dump' | 'pg_restore' | 'psql';

export interface PostgresTools {
  run(tool: PostgresTool, ...args: string[]): Promise<void>;
}

const execute = promisify(execFile);
const LIMIT_MS = 60_000;

/** Undefined if the server came without them, as from npm. Those of another version may not read its dump. */
export async function findPostgresTools(): Promise<PostgresTools | undefined> {
  const environment = processEnvironment();
  const { postgres } = await locateParts(['postgres'], { environment, progress: silentProgress });
  const folder = path.dirname(realpathSync(postgres.path));
  const find = (tool: PostgresTool) => {
    const beside = path.join(folder, tool);
    if (existsSync(beside)) return beside;
    return postgres.origin === 'PATH' ? onPath(tool, environment.PATH) : undefined;
  };
  const tools = { pg_dump: find('pg_dump'), pg_restore: find('pg_restore'), psql: find('psql') };
  if (Object.values(tools).some((tool) => tool === undefined)) return undefined;
  return {
    async run(tool, ...args) {
      await execute(tools[tool] ?? tool, args, { timeout: LIMIT_MS, env: { PATH: environment.PATH } });
    },
  };
}

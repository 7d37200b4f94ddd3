/** Postgres server for one test, started like the shared one. */
import { randomBytes } from 'node:crypto';
import { freePorts } from '../../dev/stack/freePorts.ts';
import { locateParts } from '../../dev/stack/locate.ts';
import { postgresUrl, preparePostgres } from '../../dev/stack/parts/postgres.ts';
import { silentProgress } from '../../dev/stack/progress.ts';
import { supervise } from '../../dev/stack/supervise.ts';
import { processEnvironment } from '../../infra/config/environment.ts';

export interface OwnPostgres {
  /** URL of the empty database `postgres`, as its superuser. */
  adminUrl: string;
  stop(): Promise<void>;
}

interface OwnPostgresOptions {
  /** Created by this. The end of the test run stops processes in it. */
  folder: string;
  /** Name of the supervised process. */
  name: string;
  settings?: Record<string, string>;
  env?: Record<string, string>;
}

/** Restarts the server if it dies. */
export async function startOwnPostgres(options: OwnPostgresOptions): Promise<OwnPostgres> {
  const { folder, name, settings = {}, env = {} } = options;
  const [{ postgres }, [port = 0]] = await Promise.all([
    locateParts(['postgres'], { environment: processEnvironment(), progress: silentProgress }),
    freePorts(1),
  ]);
  const password = randomBytes(12).toString('hex');
  const part = await preparePostgres({ program: postgres, folder, port, password, settings });
  const server = await supervise({ ...part, name, env: { ...part.env, ...env } }, { folder });
  return {
    adminUrl: postgresUrl({ port, password, database: 'postgres' }),
    stop: () => server.stop(),
  };
}

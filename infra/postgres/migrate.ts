/** Brings a database to the newest schema: the plain SQL files of migrations/, each once, in the order of their names. */
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';

export interface MigrationResult {
  /** Names of the migrations that this call applied; empty when there was nothing to do. */
  applied: string[];
}

/** Any number of processes may call this at once: an advisory lock lets one work while the others wait. */
export async function migrate(databaseUrl: string): Promise<MigrationResult> {
  const quiet = () => undefined;
  const applied = await runner({
    databaseUrl: {
      connectionString: databaseUrl,
      connectionTimeoutMillis: 10_000,
      application_name: 'farebox-migrate',
    },
    dir: fileURLToPath(migrationsFolder()),
    direction: 'up',
    migrationsTable: 'farebox_migrations',
    // All pending files or none; the failure reaches the caller as an error, so nothing needs printing.
    singleTransaction: true,
    advisoryLockMode: 'wait',
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  return { applied: applied.map((migration) => migration.name) };
}

/** The SQL files stay in the source tree: compiled code lies one folder deeper, under dist/. */
function migrationsFolder(): URL {
  const compiled = import.meta.url.endsWith('.js');
  return new URL(compiled ? '../../../infra/postgres/migrations/' : './migrations/', import.meta.url);
}

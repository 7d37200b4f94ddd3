import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { services } from '../../harness/services.ts';
import { databaseOf } from '../../harness/template.ts';

/** A database with the migrations up to one, without it. */
export async function databaseBefore(name: string): Promise<string> {
  const database = `older_${randomUUID().slice(0, 8)}`;
  const admin = new pg.Client(services().databaseUrl);
  await admin.connect();
  await admin.query(`create database ${database}`);
  await admin.end();
  const url = databaseOf(services().databaseUrl, database);
  const all = fileURLToPath(new URL('../../../infra/postgres/migrations/', import.meta.url));
  const dir = mkdtempSync(path.join(tmpdir(), 'farebox-migrations-'));
  cpSync(all, dir, { recursive: true, filter: (file) => path.basename(file) < name || file === all });
  const quiet = () => undefined;
  await runner({
    ...{
      databaseUrl: url,
      dir,
      direction: 'up',
      migrationsTable: 'farebox_migrations',
      singleTransaction: true,
    },
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  rmSync(dir, { recursive: true });
  return url;
}

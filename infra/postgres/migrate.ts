/**
 * Brings a database to this release: the numbered files of migrations/, each once, and then those files of functions/
 * whose text the database does not have. One transaction; a failure reaches the caller as an error.
 */
import pg from 'pg';
import { type Release, readRelease } from './release.ts';

export interface MigrationResult {
  /** Names of the migrations that this call applied, in their order. */
  applied: string[];
  /** Names of the functions that this call created or replaced. */
  functions: string[];
}

/** Any number of processes may call this at once: one works, the others wait. */
export async function migrate(databaseUrl: string, release: Release = readRelease()): Promise<MigrationResult> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
    application_name: 'farebox-migrate',
  });
  // A broken connection also fails its statement.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(hashtextextended('farebox migrate', 0))`);
    await refuseOlderLayout(client);
    await client.query(RECORDS);
    const applied = await applyMigrations(client, release);
    const functions = await replaceFunctions(client, release);
    // The upkeep creates the partitions of later months.
    if (applied.length === release.migrations.length) await client.query('select prepare_partitions()');
    await client.query('commit');
    return { applied, functions };
  } finally {
    await client.end();
  }
}

const RECORDS = `
  create table if not exists farebox_migrations (
    name text collate "C" primary key,
    digest text not null,
    applied_at timestamptz not null default clock_timestamp());
  create table if not exists farebox_functions (
    name text primary key,
    digest text not null,
    version integer not null)`;

/** Releases before this layout kept their migrations in a table of the same name, with a column `run_on`. */
async function refuseOlderLayout(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(
    `select from pg_attribute where attrelid = to_regclass('farebox_migrations') and attname = 'run_on'`,
  );
  if (rowCount === 0) return;
  throw new Error(
    `the database ${client.database} has the tables of an older Farebox, which this release cannot take over: ` +
      'name an empty database by DATABASE_URL',
  );
}

async function applyMigrations(client: pg.Client, { migrations }: Release): Promise<string[]> {
  const { rows } = await client.query<{ name: string; digest: string }>(
    'select name, digest from farebox_migrations order by name',
  );
  for (const [index, { name, digest }] of rows.entries()) {
    const own = migrations.find((migration) => migration.name === name);
    if (own === undefined) {
      throw new Error(
        `the database ${client.database} was migrated by a newer Farebox (${name}): start the newer release`,
      );
    }
    const due = migrations[index];
    if (due !== own) throw new Error(`the migration ${due?.name} comes before ${name}, which is applied already`);
    if (own.digest !== digest) {
      throw new Error(`the migration ${name} was changed after it had been applied: write a further one instead`);
    }
  }
  const pending = migrations.slice(rows.length);
  for (const { name, digest, text } of pending) {
    await client.query(text);
    await client.query('insert into farebox_migrations (name, digest) values ($1, $2)', [name, digest]);
  }
  return pending.map(({ name }) => name);
}

/**
 * The version is the order of the releases. Only functions of an earlier version are replaced: an older release that
 * starts beside a newer one leaves the newer functions as they are.
 */
async function replaceFunctions(client: pg.Client, { functions, version }: Release): Promise<string[]> {
  const { rows } = await client.query<{ name: string; digest: string; version: number; exists: boolean }>(
    `select name, digest, version, exists (
        select from pg_proc where pronamespace = current_schema()::regnamespace and proname = name) as exists
      from farebox_functions`,
  );
  const present = rows[0]?.version ?? 0;
  if (present > version) return [];
  const known = new Map(rows.map((row) => [row.name, row]));
  const changed = functions.filter(({ name, digest }) => known.get(name)?.digest !== digest);
  if (present === version && changed.length > 0) {
    throw new Error(
      `the database ${client.database} has another text of ${changed[0]?.name} under version ${version} of the functions: ` +
        'raise the version in infra/postgres/functions/version.txt',
    );
  }
  // A migration that drops a table drops the functions that take its rows.
  const missing = functions.filter(({ name }) => known.get(name)?.exists === false);
  const replaced = [...new Set([...changed, ...missing])];
  if (present === version && replaced.length === 0) return [];
  await defineFunctions(client, replaced);
  await client.query('delete from farebox_functions');
  await client.query(
    `insert into farebox_functions (name, digest, version)
      select f.name, f.digest, $3 from unnest($1::text[], $2::text[]) as f (name, digest)`,
    [functions.map(({ name }) => name), functions.map(({ digest }) => digest), version],
  );
  return replaced.map(({ name }) => name);
}

/** Bodies are checked after all functions exist, so that their order does not matter. */
async function defineFunctions(client: pg.Client, functions: Release['functions']): Promise<void> {
  await client.query('set local check_function_bodies = off');
  for (const { text } of functions) await client.query(text);
  await client.query('set local check_function_bodies = on');
  const { rows } = await client.query<{ name: string; count: number }>(
    `select p.proname as name, count(*)::int as count,
        count(case l.lanname when 'sql' then fmgr_sql_validator(p.oid)::text else plpgsql_validator(p.oid)::text end)
      from pg_proc p join pg_language l on l.oid = p.prolang
      where p.pronamespace = current_schema()::regnamespace and p.proname = any ($1) group by p.proname`,
    [functions.map(({ name }) => name)],
  );
  const twice = rows.find(({ count }) => count > 1);
  if (twice) throw new Error(`${twice.name} has two signatures: drop the former one in a migration`);
}

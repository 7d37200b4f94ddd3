/** Postgres on the loopback address: creates its cluster once, and runs for root too. */
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { asOrdinaryUser, type UserSwitch } from '../asOrdinaryUser.ts';
import type { FoundProgram, PartProcess } from '../part.ts';
import { partEnvironment } from '../part.ts';
import { initdbOf } from '../recipes/postgres.ts';
import { lastOutput, runCommand } from '../runCommand.ts';

export interface PostgresOptions {
  /** `postgres`, with `initdb` in the same folder. */
  program: FoundProgram;
  /** Folder with the cluster in `data/`. */
  folder: string;
  port: number;
  password: string;
  /** Additional server settings, such as `{ fsync: 'off' }` for temporary clusters. */
  settings?: Record<string, string>;
}

const USER = 'postgres';

export function postgresUrl(options: { port: number; password: string; database: string }): string {
  return `postgres://${USER}:${options.password}@127.0.0.1:${options.port}/${options.database}`;
}

/** Creates the cluster if missing, and describes its server. Throws with initdb's output when it fails. */
export async function preparePostgres(options: PostgresOptions): Promise<PartProcess> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const user = await asOrdinaryUser(options.program.path, options.folder);
  const data = path.join(options.folder, 'data');
  await giveTo(user, options.folder);
  if (!existsSync(data)) await initialise(options, user, data);
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '300',
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const serve = user.wrap(options.program.path, ['-D', data, '-p', String(options.port), ...flags]);
  return {
    name: 'postgres',
    command: serve.command,
    args: serve.args,
    env: partEnvironment(),
    cwd: options.folder,
    check: () => query(postgresUrl({ ...options, database: 'postgres' }), 'select 1').then(() => undefined),
    // "Too many clients" proves that the server works.
    isAnswer: (error) => error instanceof pg.DatabaseError,
    // Long enough for crash recovery under load.
    readyTimeoutMs: 60_000,
    stopSignal: 'SIGINT',
    stopTimeoutMs: 20_000,
  };
}

/** Another user may have started it last, so all files are given to the current one. */
async function giveTo({ ownerId }: UserSwitch, folder: string): Promise<void> {
  if (ownerId === undefined || statSync(folder).uid === ownerId) return;
  await runCommand('chown', ['-R', `${ownerId}:${ownerId}`, folder], { timeoutMs: 120_000 });
}

/** Writes to another folder and renames it, so that a cluster is complete or absent. */
async function initialise(options: PostgresOptions, user: UserSwitch, data: string): Promise<void> {
  const fresh = `${data}.new`;
  rmSync(fresh, { recursive: true, force: true });
  const passwordFile = path.join(options.folder, 'password');
  writeFileSync(passwordFile, options.password, { mode: 0o600 });
  if (user.ownerId !== undefined) chownSync(passwordFile, user.ownerId, user.ownerId);
  const initdb = initdbOf(options.program.path);
  const flags = ['-D', fresh, '-U', USER, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`];
  const locale = ['-E', 'UTF8', '--locale=C', '--no-sync'];
  const made = user.wrap(initdb, [...flags, ...locale]);
  const result = await runCommand(made.command, made.args, {
    timeoutMs: 120_000,
    env: partEnvironment(),
    cwd: options.folder,
  });
  rmSync(passwordFile, { force: true });
  if (result.code !== 0) throw new Error(`initdb (${initdb}) failed with ${lastOutput(result)}`);
  chmodSync(fresh, 0o700);
  renameSync(fresh, data);
}

/** Creates the database when it is missing. */
export async function ensureDatabase(adminUrl: string, name: string): Promise<void> {
  const found = await query(adminUrl, 'select 1 from pg_database where datname = $1', [name]);
  if (found.length === 0) await query(adminUrl, `create database ${pg.escapeIdentifier(name)}`);
}

/** Runs one statement on its own connection, for one-time setup. */
export async function query(url: string, text: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A server stop during an idle connection must not end this process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

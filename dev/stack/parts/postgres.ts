/** Postgres: its cluster made once, its server on the loopback address, also when the caller is root. */
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { asOrdinaryUser, type UserSwitch } from '../asOrdinaryUser.ts';
import type { FoundProgram, PartProcess } from '../part.ts';
import { partEnvironment } from '../part.ts';
import { initdbOf } from '../recipes/postgres.ts';
import { lastOutput, runCommand } from '../runCommand.ts';

export interface PostgresOptions {
  /** `postgres`; `initdb` lies beside it. */
  program: FoundProgram;
  /** Holds `data/`, the cluster. */
  folder: string;
  port: number;
  password: string;
  /** Further server settings, e.g. `{ fsync: 'off' }` for throwaway clusters. */
  settings?: Record<string, string>;
}

const USER = 'postgres';

export function postgresUrl(options: { port: number; password: string; database: string }): string {
  return `postgres://${USER}:${options.password}@127.0.0.1:${options.port}/${options.database}`;
}

/** Makes the cluster when there is none, and says how its server is run. Throws with initdb's words when it fails. */
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
    // "Too many clients" is said by a server that works.
    isAnswer: (error) => error instanceof pg.DatabaseError,
    // Long enough for the recovery of a cluster that was killed under load.
    readyTimeoutMs: 60_000,
    stopSignal: 'SIGINT',
    stopTimeoutMs: 20_000,
  };
}

/** Whoever started it last may have been another user: all of it is given to the one who runs it now. */
async function giveTo({ ownerId }: UserSwitch, folder: string): Promise<void> {
  if (ownerId === undefined || statSync(folder).uid === ownerId) return;
  await runCommand('chown', ['-R', `${ownerId}:${ownerId}`, folder], { timeoutMs: 120_000 });
}

/** Into a folder beside it, renamed when complete: a cluster is there whole or not at all. */
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

/** One statement on a connection of its own, for set-up steps that happen once. */
export async function query(url: string, text: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A server that is stopped under an idle connection must not end this process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

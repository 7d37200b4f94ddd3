/** Pins processes: the product has one core to itself, its dependencies have the other. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { World } from './world.ts';

/** The postmaster comes first. Later processes inherit its core. */
export async function postgresPids({ environment }: Pick<World, 'environment'>): Promise<number[]> {
  const client = new pg.Client({ connectionString: environment.DATABASE_URL });
  await client.connect();
  const folder = (await client.query('show data_directory')).rows[0].data_directory as string;
  const backends = (await client.query('select pid from pg_stat_activity')).rows.map(({ pid }) => Number(pid));
  await client.end();
  const postmaster = Number(readFileSync(path.join(folder, 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  return [postmaster, ...backends];
}

/** Ignores processes that have ended. */
export async function pinToSecondCore(pid: number): Promise<void> {
  await promisify(execFile)('taskset', ['-a', '-c', '-p', '1', String(pid)]).catch(() => undefined);
}

/** Postgres for one test with a settable clock: the usual server with libfaketime. */
import { randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { query } from '../../dev/stack/parts/postgres.ts';
import { fakedClock } from './fakedClock.ts';
import { startOwnPostgres } from './ownPostgres.ts';
import { databaseOf, makeTemplate } from './template.ts';

export interface ClockedPostgres {
  /** Returns the URL of a new, migrated database. */
  createDatabase(): Promise<string>;
  /** Sets the server's clock, which runs on from there. */
  setClock(at: string): Promise<void>;
  stop(): Promise<void>;
}

/** Creates `folder`. The end of the test run stops processes in it. */
export async function startClockedPostgres(folder: string): Promise<ClockedPostgres> {
  const clock = await fakedClock();
  const offset = `${folder}.clock`;
  setOffset(offset, 0);
  const { adminUrl, stop } = await startOwnPostgres({
    ...{ folder, name: 'clocked-postgres' },
    settings: { fsync: 'off', full_page_writes: 'off' },
    env: clock.followed(offset),
  });
  const template = await makeTemplate(adminUrl);
  return {
    async createDatabase() {
      const name = `test_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
      await query(adminUrl, `create database ${name} template ${template}`);
      return databaseOf(adminUrl, name);
    },
    async setClock(at) {
      setOffset(offset, Date.parse(at) - Date.now());
      const [row] = (await query(adminUrl, 'select clock_timestamp() as now')) as { now: Date }[];
      const aheadMs = (row?.now.getTime() ?? 0) - Date.parse(at);
      // A library that was not loaded must fail the test instead of giving today's time.
      if (!(aheadMs > -1_000 && aheadMs < 60_000)) throw new Error(`${at} was asked for, it is ${row?.now}`);
    },
    stop,
  };
}

/** Replaces the file atomically: the server reads it at each look at its clock. */
function setOffset(file: string, offsetMs: number): void {
  const seconds = (offsetMs / 1_000).toFixed(3);
  writeFileSync(`${file}.new`, `${offsetMs < 0 ? '' : '+'}${seconds}`);
  renameSync(`${file}.new`, file);
}

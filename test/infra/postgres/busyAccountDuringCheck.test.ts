/** A ledger check uses short snapshots: a long one would keep every old version of a busy account's row. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { charge } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { migrate } from '../../../infra/postgres/migrate.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { type OwnPostgres, startOwnPostgres } from '../../harness/ownPostgres.ts';
import { services } from '../../harness/services.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

/** Enough pages of accounts that a check runs many statements. */
const ACCOUNTS = 4_000;
/** Charges of the busy account during one check. */
const CHARGES = 1_500;

let server: OwnPostgres;
let world: LedgerWorld;
let busy: string;
beforeAll(async () => {
  // Postgres keeps old versions of a row while any older writing transaction runs, in any database of the server.
  server = await startOwnPostgres({
    folder: path.join(services().folder, randomUUID()),
    name: 'quiet-postgres',
  });
  await migrate(server.adminUrl);
  world = await createLedgerWorld(8, server.adminUrl);
  await world.owner.query(
    `insert into accounts (id, name) select gen_random_uuid(), 'idle' from generate_series(1, ${ACCOUNTS})`,
  );
  // The snapshot of an automatic analyze would keep old versions of the row too.
  await world.owner.query(`do $$ declare name regclass; begin
    for name in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
      execute format('alter table %s set (autovacuum_enabled = false)', name);
    end loop;
  end $$`);
  busy = await world.account({ usd: 10n ** 9n });
  await world.owner.query('vacuum (analyze) accounts');
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
  await server.stop();
});

async function chargeBusy(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await charge(world.pool, order(busy, both(1n)));
}

/** Pages that Postgres reads for the balance of the busy account, including old versions of its row. */
async function pagesOfBusy(): Promise<number> {
  const { rows } = await world.owner.query(
    `explain (analyze, buffers, timing off, format json) select usd_posted from accounts where id = '${busy}'`,
  );
  const { Plan: plan } = rows[0]['QUERY PLAN'][0];
  return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
}

/** Runs a check that awaits `act` after each of its statements, and expects no damage. */
async function checkWith(act: () => Promise<void>): Promise<void> {
  const pool = openPool({ databaseUrl: world.databaseUrl, applicationName: 'check-test', max: 1 });
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
  pool.connect = (async () => {
    const client = await connect();
    const query = Object.getPrototypeOf(client).query.bind(client) as (...given: unknown[]) => Promise<unknown>;
    client.query = (async (...given: unknown[]) => {
      const result = await query(...given);
      await act();
      return result;
    }) as never;
    return client;
  }) as never;
  try {
    expect(await checkLedger(pool)).toEqual([]);
  } finally {
    await pool.end();
  }
}

it('the row of a busy account takes as many pages during a check as without one', async () => {
  let statements = 0;
  await checkWith(async () => {
    statements += 1;
  });
  await chargeBusy(CHARGES);
  const alone = await pagesOfBusy();
  const during: number[] = [];
  await checkWith(async () => {
    await chargeBusy(Math.ceil(CHARGES / statements));
    during.push(await pagesOfBusy());
  });
  expect(during.length).toBeGreaterThanOrEqual(statements);
  expect(Math.max(...during)).toBeLessThan(2 * alone);
});

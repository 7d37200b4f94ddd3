/** Modules of a built checkout of this repository (this or an older one), so that its own code writes its books. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../test/harness/spawn.ts';

type Accounts = typeof import('../infra/postgres/accounts.ts');
type Keys = typeof import('../infra/postgres/keys.ts');
type Postings = typeof import('../infra/postgres/ledger.ts');
type Schema = typeof import('../infra/postgres/migrate.ts');
type Pools = typeof import('../infra/postgres/pool.ts');
type Ledgers = typeof import('../infra/postgres/createLedger.ts');
type Processes = typeof import('../dev/stack/services.ts');

export interface Checkout
  extends Pick<Accounts, 'createAccount'>,
    Pick<Keys, 'createKey'>,
    Pick<Postings, 'grant'>,
    Pick<Schema, 'migrate'>,
    Pick<Pools, 'openPool'>,
    /** Missing in older builds, which have one pool for everything. */
    Partial<Pick<Pools, 'openLedgerPool'>>,
    Pick<Ledgers, 'createLedger'>,
    Pick<Processes, 'API_FLAGS' | 'WORKER_FLAGS'> {
  folder: string;
}

export async function openCheckout(folder = ROOT): Promise<Checkout> {
  const load = (name: string) => import(pathToFileURL(path.resolve(folder, 'dist', name)).href);
  if (!existsSync(path.resolve(folder, 'dist/api/main.js'))) {
    throw new Error(`${folder} is not a built checkout: run \`npm run build\` there`);
  }
  const { createAccount } = (await load('infra/postgres/accounts.js')) as Accounts;
  const { createKey } = (await load('infra/postgres/keys.js')) as Keys;
  const { grant } = (await load('infra/postgres/ledger.js')) as Postings;
  const { migrate } = (await load('infra/postgres/migrate.js')) as Schema;
  const { openPool, openLedgerPool } = (await load('infra/postgres/pool.js')) as Pools;
  const { createLedger } = (await load('infra/postgres/createLedger.js')) as Ledgers;
  // Older builds have it in infra/.
  const services = load('dev/stack/services.js').catch(() => load('infra/stack/services.js'));
  const { API_FLAGS, WORKER_FLAGS } = (await services) as Processes;
  return {
    folder: path.resolve(folder),
    ...{ createAccount, createKey, grant, migrate, openPool, openLedgerPool, createLedger },
    ...{ API_FLAGS, WORKER_FLAGS },
  };
}

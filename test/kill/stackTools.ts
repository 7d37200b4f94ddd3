/** Direct access to the parts of a running stack, for audits. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { openPool } from '../../infra/postgres/pool.ts';
import { openStorage, type Storage } from '../../infra/s3/storage.ts';
import { openTemporal, type Temporal } from '../../infra/temporal/connect.ts';
import { ledgerCheck, sweepOrphans } from './operator.ts';
import { createPayer, type Payer } from './payer.ts';
import type { Stack } from './stack.ts';

export interface StackTools {
  pool: pg.Pool;
  storage: Storage;
  temporal: Temporal;
  dataFolder: string;
  createPayer(accountId: string): Promise<Payer>;
  sweep(): Promise<number>;
  ledgerCheck(): Promise<{ code: number; text: string }>;
  close(): Promise<void>;
}

const CREDIT_NANO = 1_000_000_000_000n;

export function openStackTools({ dev, dataFolder }: Stack): StackTools {
  const pool = openPool({ databaseUrl: dev.databaseUrl, applicationName: 'chaos-test', max: 4 });
  const storage = openStorage(dev.s3);
  const temporal = openTemporal(dev.temporal);
  return {
    pool,
    storage,
    temporal,
    dataFolder,
    createPayer: (accountId) => createPayer(pool, { accountId, usdNano: CREDIT_NANO }),
    sweep: () => sweepOrphans({ temporal, storage }, { id: randomUUID(), graceMs: 1 }),
    ledgerCheck: () => ledgerCheck(dev.databaseUrl),
    async close() {
      storage.close();
      await Promise.all([pool.end(), temporal.close()]);
    },
  };
}

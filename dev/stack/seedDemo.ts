/** Demo account with 100 USD of credit, 10 diem a day and one key of each type. The same at every start. */
import path from 'node:path';
import type pg from 'pg';
import { nanoFromNumber } from '../../domain/money.ts';
import { createAccount, findAccount } from '../../infra/postgres/accounts.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { grant } from '../../infra/postgres/ledger.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { readJson, writeJson } from './jsonFile.ts';

export interface Demo {
  accountId: string;
  keys: { admin: string; inference: string };
  /** Whether the demonstration job has run. */
  demonstrated: boolean;
}

const CREDIT_USD = 100;
const DIEM_A_DAY = 10;

/** Idempotent: completes what a killed start left, and grants nothing twice. */
export async function seedDemo(dataFolder: string, databaseUrl: string): Promise<Demo> {
  const pool = openPool({ databaseUrl, applicationName: 'farebox-start', max: 1 });
  try {
    const known = readJson<Demo>(demoFile(dataFolder));
    if (known !== undefined && (await findAccount(pool, known.accountId)) !== undefined) return known;
    const demo = await create(pool);
    saveDemo(dataFolder, demo);
    return demo;
  } finally {
    await pool.end();
  }
}

/** The database has only hashes of the secrets, so the data folder keeps a copy for its owner. */
export function saveDemo(dataFolder: string, demo: Demo): void {
  writeJson(demoFile(dataFolder), demo);
}

async function create(pool: pg.Pool): Promise<Demo> {
  const diemDailyAllocation = nanoFromNumber(DIEM_A_DAY) ?? 0n;
  const { id: accountId } = await createAccount(pool, { name: 'Demo', diemDailyAllocation });
  await grant(pool, {
    operationId: `demo-credit:${accountId}`,
    accountId,
    currency: 'usd',
    amount: nanoFromNumber(CREDIT_USD) ?? 0n,
    notes: 'Credit of the demo account',
  });
  const admin = await createKey(pool, { accountId, keyType: 'ADMIN', description: 'Demo' });
  const inference = await createKey(pool, { accountId, keyType: 'INFERENCE', description: 'Demo' });
  return { accountId, keys: { admin: admin.secret, inference: inference.secret }, demonstrated: false };
}

function demoFile(dataFolder: string): string {
  return path.join(dataFolder, 'demo.json');
}

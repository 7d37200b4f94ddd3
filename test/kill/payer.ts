import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { grant } from '../../infra/postgres/ledger.ts';

export interface PayerOptions {
  /** Id of the account if the configuration names it. */
  accountId?: string;
  usdNano?: bigint;
}

/** A new account with credit and a key. */
export interface Payer {
  accountId: string;
  secret: string;
  startNano: bigint;
}

const ONE_USD = 1_000_000_000n;

export async function createPayer(pool: pg.Pool, options: PayerOptions = {}): Promise<Payer> {
  const startNano = options.usdNano ?? ONE_USD;
  const id = options.accountId ?? randomUUID();
  const { id: accountId } = await createAccount(pool, { id, name: 'kill test' });
  if (startNano > 0n) {
    const credit = { accountId, currency: 'usd', amount: startNano, notes: 'start' } as const;
    await grant(pool, { operationId: randomUUID(), ...credit });
  }
  const { secret } = await createKey(pool, { accountId, keyType: 'INFERENCE' });
  return { accountId, secret, startNano };
}

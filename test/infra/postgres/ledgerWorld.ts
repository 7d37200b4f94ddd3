/** A database for one ledger test, with accounts and keys made in one line, and a clock that the test sets. */
import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import type { LedgerPrice, LimitPeriod, PriceSnapshot } from '../../../domain/ledger.ts';
import { createAccount } from '../../../infra/postgres/accounts.ts';
import { createLedger, type Ledger } from '../../../infra/postgres/createLedger.ts';
import { type Balance, balanceOf, type Charge, charge, grant } from '../../../infra/postgres/ledger.ts';
import type { LedgerOptions } from '../../../infra/postgres/ledgerCalls.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import { openLedgerPool, openPool } from '../../../infra/postgres/pool.ts';
import { createDatabase } from '../../harness/services.ts';

export const SNAPSHOT: PriceSnapshot = {
  sku: 'test-tokens',
  modelId: 'test',
  provider: 'simulator',
  // Times the price, less than a nano unit, rounded down: consistent with every amount.
  units: '999999999999999',
  unit: 'part',
  pricePerUnitUsd: '0',
  requestId: 'request-1',
};

export interface KeyLimits {
  usd?: bigint | undefined;
  diem?: bigint | undefined;
  period?: LimitPeriod;
}

export interface LedgerWorld {
  databaseUrl: string;
  /** Connected with the role of the services. */
  pool: pg.Pool;
  /** Connected as the owner of the schema, for reading and damaging rows. */
  owner: pg.Pool;
  /** Opens a ledger as the services do. With `maxInFlight` it has its own connections, so that statements overlap. */
  ledger(options?: LedgerOptions): Ledger;
  account(funds?: { usd?: bigint; bundled?: bigint; diem?: bigint }): Promise<string>;
  key(accountId: string, limits?: KeyLimits, parentId?: string): Promise<string>;
  setLimits(keyId: string, limits: KeyLimits): Promise<void>;
  /** Stops the ledger's clock at this time. */
  setClock(at: string): Promise<void>;
  balance(accountId: string): Promise<Balance>;
  /** Transfers of an account, oldest first. */
  transfersOf(accountId: string): Promise<Record<string, unknown>[]>;
  /** Throws with the rows if an invariant is broken. */
  expectSound(): Promise<void>;
  close(): Promise<void>;
}

export async function createLedgerWorld(poolSize = 8, inDatabase?: string): Promise<LedgerWorld> {
  const databaseUrl = inDatabase ?? (await createDatabase());
  const pool = openPool({ databaseUrl, applicationName: 'ledger-test', max: poolSize });
  const purse = openLedgerPool({ databaseUrl, applicationName: 'ledger-test-purse' });
  const owner = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  owner.on('error', () => undefined);
  const ledgers: Ledger[] = [];
  return {
    databaseUrl,
    pool,
    owner,
    ledger(options) {
      const made = createLedger(options?.maxInFlight === undefined ? purse : pool, options);
      ledgers.push(made);
      return made;
    },
    account: (funds = {}) => fundedAccount(pool, funds),
    key: (accountId, limits = {}, parentId) => makeKey(pool, { accountId, limits, parentId }),
    setLimits: (keyId, limits) => changeLimits(pool, keyId, limits),
    setClock: (at) => setClock(owner, at),
    async balance(accountId) {
      const found = await balanceOf(pool, accountId);
      if (!found) throw new Error(`no account ${accountId}`);
      return found;
    },
    async transfersOf(accountId) {
      const { rows } = await owner.query(
        `select kind, house, currency, amount, operation_id, details from transfers
          where account_id = $1 order by id`,
        [accountId],
      );
      return rows;
    },
    async expectSound() {
      const broken = await checkLedger(pool);
      if (broken.length > 0) throw new Error(`the ledger is not sound: ${JSON.stringify(broken, null, 2)}`);
    },
    async close() {
      await Promise.all(ledgers.map((made) => made.close()));
      await Promise.all([pool.end(), purse.end(), owner.end()]);
    },
  };
}

async function fundedAccount(pool: pg.Pool, funds: { usd?: bigint; bundled?: bigint; diem?: bigint }): Promise<string> {
  const { id } = await createAccount(pool, { name: 'test', diemDailyAllocation: funds.diem ?? 0n });
  for (const currency of ['usd', 'bundled'] as const) {
    const amount = funds[currency] ?? 0n;
    const operationId = `fund:${currency}:${id}`;
    if (amount > 0n) await grant(pool, { operationId, accountId: id, currency, amount, notes: 'test' });
  }
  return id;
}

async function makeKey(
  pool: pg.Pool,
  { accountId, limits, parentId }: { accountId: string; limits: KeyLimits; parentId: string | undefined },
): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into api_keys (account_id, secret_hash, key_type, last6, limit_usd, limit_diem, limit_period, parent_id)
     values ($1, $2, 'INFERENCE', 'abcdef', $3, $4, $5, $6) returning id`,
    [
      ...[accountId, randomBytes(32), limits.usd?.toString(), limits.diem?.toString()],
      ...[limits.period ?? 'EPOCH', parentId],
    ],
  );
  return rows[0]?.id ?? '';
}

async function changeLimits(pool: pg.Pool, keyId: string, limits: KeyLimits): Promise<void> {
  await pool.query('update api_keys set limit_usd = $2, limit_diem = $3, limit_period = $4 where id = $1', [
    keyId,
    limits.usd?.toString() ?? null,
    limits.diem?.toString() ?? null,
    limits.period ?? 'EPOCH',
  ]);
}

async function setClock(owner: pg.Pool, at: string): Promise<void> {
  await owner.query('create table if not exists test_clock (one boolean primary key, at timestamptz not null)');
  await owner.query('insert into test_clock values (true, $1) on conflict (one) do update set at = $1', [at]);
  await owner.query(
    `create or replace function ledger_now() returns timestamptz language sql volatile as 'select at from test_clock'`,
  );
}

export function both(amount: bigint): LedgerPrice {
  return { usd: amount, diem: amount };
}

/** A charge request with defaults for everything that a test does not set. */
export function order(accountId: string, price: LedgerPrice, more: Partial<Charge> = {}): Charge {
  return { operationId: randomUUID(), accountId, keyId: null, price, snapshot: SNAPSHOT, ...more };
}

/** A job of the ledger's day with its charge and a stored output. Returns the id of both. */
export async function storedJob(
  { pool, owner }: LedgerWorld,
  { accountId, keyId }: { accountId: string; keyId: string | null },
): Promise<string> {
  const queueId = randomUUID();
  const sold = { ...SNAPSHOT, queueId, unit: 'generation', units: '1', pricePerUnitUsd: '10' };
  const price = { usd: 10n, diem: 0n };
  await charge(pool, { operationId: queueId, accountId, keyId, price, snapshot: sold });
  await owner.query(
    `insert into jobs (queue_id, account_id, key_id, kind, model_id, provider, state, request_id, price_usd_nano,
       charge_operation_id, charge_id, output_key, created_at, deadline_at)
     values ($1, $2, $3, 'video', 'test', 'simulator', 'stored', 'r', 10, $1, $1::uuid::text, 'out', ledger_now(), ledger_now())`,
    [queueId, accountId, keyId],
  );
  return queueId;
}

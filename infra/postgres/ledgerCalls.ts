/**
 * Batches the ledger calls of all accounts into shared statements. Where one finds a locked account, it soon times out:
 * the calls of that account then wait on separate connections, and the others go on. An account stays separate until
 * one of its calls gets through. Bench `ledger`.
 */
import { createBatcher } from './batcher.ts';
import { isLockTimeout, unavailable } from './failures.ts';
import { type LedgerCall, type LedgerRow, runLedgerCalls } from './ledgerStatements.ts';
import { openPipelinedConnection, type PipelinedConnection } from './pipelinedConnection.ts';
import { inTransaction, type Sql, type SqlClient } from './pool.ts';

export interface LedgerOptions {
  /** Most calls in one statement; 256 by default. */
  maxBatch?: number;
  /**
   * Statements in flight. Default: 2 on a pipelined pool, which runs them in order on one connection, otherwise 1: on
   * two connections they would wait for the row of the same account. Calls that arrive meanwhile share the next
   * statement and its commit.
   */
  maxInFlight?: number;
  /** Most calls waiting; 10,000 by default. Above it a call is refused as unavailable. */
  maxWaiting?: number;
  /** Longest a call may take; 10 s by default. */
  deadlineMs?: number;
}

export interface LedgerCalls {
  /**
   * With `isGivenUp` the call waits for a locked account until that returns true. The outcome `given_up` guarantees
   * that nothing was written, and nothing will be.
   */
  call(call: LedgerCall, isGivenUp?: () => boolean): Promise<LedgerRow>;
  /** Refuses new calls and resolves when the running ones have ended. */
  close(): Promise<void>;
}

/** Call that did not run: the row of its account is locked. */
interface LockedAccount {
  lockedAccountId: string;
  /** An earlier attempt with unknown outcome may have run it. */
  mayHaveRun?: boolean;
}

const GIVEN_UP: LedgerRow = {
  ...{ outcome: 'given_up', limited: null, state: null, replayed: false },
  ...{ part_diem: '0', part_bundled: '0', part_usd: '0' },
};

interface WaitingCall {
  accountId: string;
  call: LedgerCall;
}

const DEFAULT_DEADLINE_MS = 10_000;
/** Accounts that wait concurrently; further ones wait in turn. */
const MAX_LOCK_WAITS = 4;
/** Length of one turn in ms. */
const LOCK_WAIT_MS = 1_000;
const MAX_ACCOUNTS_APART = 1_000;

export function createLedgerCalls(pool: Sql, options: LedgerOptions): LedgerCalls {
  const { deadlineMs = DEFAULT_DEADLINE_MS } = options;
  const connection = openPipelinedConnection(pool);
  const shared = createBatcher<LedgerCall, LedgerRow | LockedAccount>({
    maxInFlight: pool.options.pipeline ? 2 : 1,
    ...options,
    run: async (batch, isRepeat) => noteRepeat(await runShared(pool, connection, batch), isRepeat),
  });
  const waiting = createBatcher<WaitingCall, LedgerRow | LockedAccount>({
    ...options,
    // One connection of the pool stays with the shared batches.
    maxInFlight: Math.min(MAX_LOCK_WAITS, Math.max(1, (pool.options.max ?? 1) - 1)),
    groupOf: ({ accountId }) => accountId,
    run: async (batch, isRepeat) => noteRepeat(await runWaiting(pool, batch), isRepeat),
  });
  const apart = new Set<string>();
  /** Waits for the row of the account, in turns. */
  async function waitApart(
    call: LedgerCall,
    locked: LockedAccount,
    isGivenUp: (() => boolean) | undefined,
  ): Promise<LedgerRow> {
    const endsAt = performance.now() + deadlineMs;
    const { lockedAccountId: accountId } = locked;
    let { mayHaveRun = false } = locked;
    for (;;) {
      if (apart.size < MAX_ACCOUNTS_APART) apart.add(accountId);
      const maySayNo = isGivenUp !== undefined && !mayHaveRun;
      if (maySayNo && isGivenUp()) return GIVEN_UP;
      // An aborted turn has an unknown outcome: calls that can be given up wait for whole turns.
      const leftMs = maySayNo ? deadlineMs : endsAt - performance.now();
      if (leftMs <= 0) throw unavailable(`account ${accountId} stayed locked`);
      const row = await waiting.call({ accountId, call }, leftMs);
      if (!('lockedAccountId' in row)) {
        apart.delete(accountId);
        return row;
      }
      mayHaveRun ||= row.mayHaveRun === true;
    }
  }
  return {
    async call(call, isGivenUp) {
      const payer = payerOf(call);
      const row = payer !== undefined && apart.has(payer) ? { lockedAccountId: payer } : await shared.call(call);
      return 'lockedAccountId' in row ? await waitApart(call, row, isGivenUp) : row;
    },
    async close() {
      await shared.close();
      await waiting.close();
    },
  };
}

function noteRepeat(rows: (LedgerRow | LockedAccount)[], isRepeat: boolean): (LedgerRow | LockedAccount)[] {
  if (!isRepeat) return rows;
  return rows.map((row) => ('lockedAccountId' in row ? { ...row, mayHaveRun: true } : row));
}

function payerOf(call: LedgerCall): string | undefined {
  return 'hold' in call ? call.hold.accountId : call.resolve.accountId;
}

async function runShared(
  pool: Sql,
  connection: PipelinedConnection,
  batch: LedgerCall[],
): Promise<(LedgerRow | LockedAccount)[]> {
  try {
    return await runLedgerCalls(connection, batch);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
  }
  const locked = await findLocked(pool, batch);
  const free = batch.filter((_, index) => locked[index] === undefined);
  const rows = free.length === 0 ? [] : await runLedgerCalls(connection, free);
  let next = 0;
  return locked.map((account) => account ?? (rows[next++] as LedgerRow));
}

/** Calls of one account, which may wait for its row: no other account waits with them. */
async function runWaiting(pool: Sql, batch: WaitingCall[]): Promise<(LedgerRow | LockedAccount)[]> {
  try {
    const work = async (client: SqlClient) => {
      const query: PipelinedConnection['query'] = async (statement) => (await client.query(statement)).rows;
      return await runLedgerCalls(
        { query },
        batch.map(({ call }) => call),
      );
    };
    return await inTransaction(pool, work, { lockTimeoutMs: LOCK_WAIT_MS });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return batch.map(({ accountId }) => ({ lockedAccountId: accountId }));
  }
}

const FIND_LOCKED = {
  name: 'ledger_find_locked',
  text: `with called as materialized (
      select q.ord, coalesce(q.account_id, o.account_id) as account_id
      from unnest($1::text[], $2::uuid[]) with ordinality as q (operation_id, account_id, ord)
      left join operations o on q.account_id is null and o.operation_id = q.operation_id and (o.kind = 'charge') is true
    ), free as materialized (
      select id from accounts where id in (select account_id from called) for no key update skip locked
    )
    select c.account_id, f.id is not null as is_free from called c left join free f on f.id = c.account_id order by c.ord`,
};

/**
 * Locked accounts of a batch, by call. If none is locked any more, all of them: a busy row is rarely found locked
 * twice, and separate waiters get it in turn.
 */
async function findLocked(pool: Sql, batch: LedgerCall[]): Promise<(LockedAccount | undefined)[]> {
  try {
    return await findLockedRows(pool, batch);
  } catch (error) {
    // A whole table is locked: the calls wait separately until it is free.
    if (!isLockTimeout(error)) throw error;
    return batch.map((call) => ({ lockedAccountId: payerOf(call) ?? '' }));
  }
}

async function findLockedRows(pool: Sql, batch: LedgerCall[]): Promise<(LockedAccount | undefined)[]> {
  const operationIds = batch.map((call) => ('hold' in call ? call.hold : call.resolve).operationId);
  const { rows } = await pool.query<{ account_id: string | null; is_free: boolean }>({
    ...FIND_LOCKED,
    values: [operationIds, batch.map((call) => payerOf(call) ?? null)],
  });
  const someLocked = rows.some(({ account_id, is_free }) => account_id !== null && !is_free);
  return rows.map(({ account_id, is_free }) =>
    account_id === null || (someLocked && is_free) ? undefined : { lockedAccountId: account_id },
  );
}

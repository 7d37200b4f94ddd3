/**
 * Transactions that lock an account, bounded so that the jobs of a locked account leave connections and slots to
 * others.
 */

import { isLockTimeout } from '../infra/postgres/failures.ts';
import { inTransaction, type SqlClient } from '../infra/postgres/pool.ts';
import { createKeyedSemaphore, type KeyedSemaphore } from '../infra/semaphore.ts';
import { TooManyWait } from '../infra/tooBusy.ts';
import { retryLater } from './asActivity.ts';
import type { ActivityDependencies } from './dependencies.ts';

/** One running and one waiting: more transactions of an account would only wait for its row. */
const CONNECTIONS = 2;
/** With the running ones about half of the steps of a worker. */
const MAX_WAITING = 20;
const MAX_WAIT_MS = 1_000;
/** The row is locked for some milliseconds; longer locks delay only their account. */
const LOCK_TIMEOUT_MS = 200;

const ACCOUNT_LOCKED = {
  type: 'AccountLocked',
  message: 'Other work has the account of this job locked; it is tried again.',
};

export function createAccountTurns(): KeyedSemaphore {
  return createKeyedSemaphore({ maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS });
}

/**
 * Runs `work` in one transaction when it is the account's turn. Fails when the account stays locked: Temporal retries
 * it.
 */
export async function inAccountTransaction<T>(
  { pool, accountTurns }: Pick<ActivityDependencies, 'pool' | 'accountTurns'>,
  accountId: string,
  work: (client: SqlClient) => Promise<T>,
): Promise<T> {
  try {
    return await accountTurns.run({ key: accountId, atOnce: CONNECTIONS }, () =>
      inTransaction(pool, work, { lockTimeoutMs: LOCK_TIMEOUT_MS }),
    );
  } catch (error) {
    throw error instanceof TooManyWait || isLockTimeout(error) ? retryLater(ACCOUNT_LOCKED) : error;
  }
}

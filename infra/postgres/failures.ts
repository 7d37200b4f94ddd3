/** Meaning of a Postgres error: retry, `unavailable`, or a mistake of ours. */
import pg from 'pg';
import { FareboxError } from '../../domain/errors.ts';

/**
 * serialization_failure, deadlock_detected: rolled back without effect, so a retry may succeed.
 * invalid_sql_statement_name: the previous statement on the connection, which was to prepare both, failed.
 */
const RETRYABLE = new Set(['40001', '40P01', '26000']);

/** SQLSTATE classes in which the database, not the statement, is at fault. */
const UNAVAILABLE_CLASSES = new Set(['08', '53', '57', '58']);
/** lock_not_available (lock timeout), read_only_sql_transaction, unable to connect with these credentials. */
const UNAVAILABLE_STATES = new Set(['55P03', '25006', '28000', '28P01', '3D000']);

const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** node-postgres reports lost and timed-out connections by message only. */
const UNAVAILABLE_WORDS =
  /^(Connection terminated|timeout e|Query read timeout|Client has encountered|Cannot use a pool)/;

export function isRetryable(error: unknown): boolean {
  return error instanceof pg.DatabaseError && RETRYABLE.has(error.code ?? '');
}

/** True when the database could not be reached or could not work; whether the statement took effect is then unknown. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof FareboxError) return error.code === 'unavailable';
  if (error instanceof pg.DatabaseError) {
    const state = error.code ?? '';
    return UNAVAILABLE_CLASSES.has(state.slice(0, 2)) || UNAVAILABLE_STATES.has(state);
  }
  if (!(error instanceof Error)) return false;
  if (UNAVAILABLE_CODES.has(String((error as NodeJS.ErrnoException).code))) return true;
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  return UNAVAILABLE_WORDS.test(error.message);
}

/**
 * lock_not_available: another transaction held a row for longer than the lock timeout. Rolled back; the connection is
 * sound.
 */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03';
}

/** The error to throw for a failed statement: `unavailable` when the database is at fault, else the error itself. */
export function asLedgerError(error: unknown): unknown {
  if (error instanceof FareboxError || !(isUnavailable(error) || isRetryable(error))) return error;
  return unavailable('the database did not answer', error);
}

export function unavailable(internal: string, cause?: unknown): FareboxError {
  return new FareboxError({
    code: 'unavailable',
    message: 'The service is temporarily unavailable. Please try again.',
    internal,
    retryAfterSeconds: 1,
    cause,
  });
}

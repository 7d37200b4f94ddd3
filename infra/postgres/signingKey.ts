/** The key that signs the places which listings hand out: in the database, so that every process has the same one. */
import type pg from 'pg';
import { FareboxError } from '../../domain/errors.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

const known = new WeakMap<pg.Pool, Promise<Buffer>>();

/** 32 bytes, read once per pool: a key that is replaced counts from the next start of a process. */
export function signingKey(pool: pg.Pool): Promise<Buffer> {
  const cached = known.get(pool);
  if (cached) return cached;
  const asked = readKey(pool);
  known.set(pool, asked);
  asked.catch(() => known.delete(pool));
  return asked;
}

async function readKey(pool: pg.Pool): Promise<Buffer> {
  const rows = await runLedgerStatement<{ key: Buffer }>(pool, {
    name: 'signing_key',
    text: 'select key from signing_key',
    values: [],
  });
  const key = rows[0]?.key;
  if (key) return key;
  throw new FareboxError({
    code: 'internal',
    message: 'Internal server error',
    internal: 'there is no signing key',
  });
}

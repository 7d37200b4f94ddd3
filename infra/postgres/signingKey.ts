/** Key that signs cursors and tokens: in the database, so that all processes share it. */
import type pg from 'pg';
import { FareboxError } from '../../domain/errors.ts';
import { runLedgerStatement } from './runLedgerStatement.ts';

const known = new WeakMap<pg.Pool, Promise<Buffer>>();

/** 32 bytes, read once per pool: a new key takes effect when a process restarts. */
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

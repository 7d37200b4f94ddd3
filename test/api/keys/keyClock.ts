import pg from 'pg';
import { expect, vi } from 'vitest';
import type { TestApi } from '../startApi.ts';

type ReadStatuses = (secret: string) => Promise<number[]>;

/**
 * Waits until `status` becomes `expected`. The clock stands still, so no cached key becomes old enough to be read again
 * without an announcement.
 */
export async function announced(status: () => Promise<number>, expected: number, aheadMs = 0): Promise<void> {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + aheadMs);
  try {
    await expect.poll(status, { interval: 5 }).toBe(expected);
  } finally {
    clock.mockRestore();
  }
}

/** Runs `work` with the clock of the database two hours ahead. A call of `readStatuses` with a new key lets the processes notice. */
export async function twoHoursLater(
  api: TestApi,
  readStatuses: ReadStatuses,
  work: () => Promise<void>,
): Promise<void> {
  const notice = async () => {
    const { secret } = await api.newKey('ADMIN');
    for (const status of await readStatuses(secret)) expect(status).toBe(200);
  };
  const { DATABASE_URL: databaseUrl } = api.environment;
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  const setClock = (expression: string) =>
    owner.query(
      `create or replace function ledger_now() returns timestamptz language sql volatile as $$ select ${expression} $$`,
    );
  try {
    await setClock(`clock_timestamp() + interval '2 hours'`);
    await notice();
    await work();
  } finally {
    await setClock('clock_timestamp()');
    await owner.end();
    await notice();
  }
}

/** The refund budget of a day for work whose client has left. */
import { expect, it } from 'vitest';
import { releaseWithinBudget } from '../../../api/paid/purchase.ts';
import { refundedPerDayOf } from '../../../domain/limits/refundedPerDay.ts';
import { loadConfig } from '../../../infra/config/config.ts';
import { refundBudgetFailures } from '../../../infra/telemetry/counters.ts';
import { PROVIDERS } from '../../../providers/registry.ts';
import { COMPLETE } from '../../config/environments.ts';

it('is 20 USD for every account without a setting', () => {
  expect(refundedPerDayOf(loadConfig(PROVIDERS, COMPLETE).limits, 'some account')).toBe(20_000_000_000n);
});

it('bills nothing when it cannot be read, and counts that', async () => {
  const count = async () => (await refundBudgetFailures.get()).values[0]?.value ?? 0;
  const before = await count();
  const done: string[] = [];
  const log = { warn: () => done.push('logged') };
  const request = { caller: { accountId: 'some account' }, log };
  const sql = { connect: () => Promise.reject(new Error('no connection')) };
  await releaseWithinBudget(
    { core: { sql, config: loadConfig(PROVIDERS, COMPLETE) } } as unknown as Parameters<typeof releaseWithinBudget>[0],
    request as unknown as Parameters<typeof releaseWithinBudget>[1],
    {
      usd: 1n,
      hold: { release: async () => void done.push('released') },
      bill: async () => void done.push('billed'),
    },
  );
  expect([done, (await count()) - before]).toEqual([['logged', 'released'], 1]);
});

/** Earlier limits of a key are checked in one pass over its transfers, however often they changed. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LIMIT_PERIODS } from '../../../domain/ledger.ts';
import { FORMER_LIMIT_RULES } from '../../../infra/postgres/formerLimits.ts';
import { charge } from '../../../infra/postgres/ledger.ts';
import { both, createLedgerWorld, type LedgerWorld, order } from './ledgerWorld.ts';

const CHARGES = 200;
const CHANGES = 200;
/** One pass takes each charge, its operation and each change through about twenty steps of the plan. */
const MAX_ROWS = 40 * (CHARGES + CHANGES);

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  Plans?: PlanNode[];
}

function countRows(node: PlanNode): number {
  const own = node['Actual Rows'] * node['Actual Loops'];
  return (node.Plans ?? []).reduce((sum, each) => sum + countRows(each), own);
}

let world: LedgerWorld;
beforeAll(async () => {
  world = await createLedgerWorld(2);
});
afterAll(() => world.close());

it('handles rows in proportion to the charges and changes of a key, not to their product', async () => {
  const accountId = await world.account({ usd: 10_000n });
  const keyId = await world.key(accountId, { usd: 5_000n, period: 'MONTH' });
  for (let round = 0; round < Math.max(CHARGES, CHANGES); round += 1) {
    await charge(world.pool, order('', both(1n), { accountId, keyId }));
    await world.setLimits(keyId, {
      usd: 5_000n + BigInt(round),
      period: LIMIT_PERIODS[round % 3] ?? 'MONTH',
    });
  }
  const { rows } = await world.owner.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) select ${FORMER_LIMIT_RULES.columns} ${FORMER_LIMIT_RULES.from}`,
    ['-infinity', 'infinity'],
  );
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  if (!plan) throw new Error('no plan');
  expect(plan['Actual Rows']).toBeGreaterThanOrEqual(CHANGES);
  expect(countRows(plan)).toBeLessThan(MAX_ROWS);
  await world.expectSound();
});

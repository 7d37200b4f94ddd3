/** Refunds of provider work for clients that left: within the budget of the account's day; beyond it the work is billed. */
import { refundedPerDayOf } from '../../domain/limits/refundedPerDay.ts';
import type { Nano } from '../../domain/money.ts';
import { inTransaction } from '../../infra/postgres/pool.ts';
import { takeRefundBudget } from '../../infra/postgres/refundBudget.ts';
import { refundBudgetFailures } from '../../infra/telemetry/counters.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';

export interface AbandonedWork {
  /** Its list price in nano USD. */
  usd: Nano;
  release(): Promise<void>;
  bill(): Promise<unknown>;
}

/** Where the budget cannot be read nothing is billed: that is logged and counted. */
export async function releaseWithinBudget(
  { sql, config }: Pick<Dependencies, 'sql' | 'config'>,
  { caller, log }: Pick<RouteRequest<unknown, unknown, 'key'>, 'caller' | 'log'>,
  { usd, release, bill }: AbandonedWork,
): Promise<void> {
  const { accountId } = caller;
  const perDay = refundedPerDayOf(config.limits, accountId);
  const take = inTransaction(sql, (client) => takeRefundBudget(client, { accountId, usd }, perDay));
  const isWithin = await take.then(
    (counted) => counted !== undefined,
    (err: unknown) => {
      refundBudgetFailures.inc();
      log.warn({ err }, 'the refunds of the day could not be read: nothing is billed');
      return true;
    },
  );
  await (isWithin ? release() : bill());
}

/** GET /billing/usage-analytics (ACCOUNT-14): billed amounts by day, model and key. */
import type { Config } from '../../infra/config/config.ts';
import { keyNames, usageAnalytics } from '../../infra/postgres/usageAnalytics.ts';
import { usageHorizon } from '../../infra/postgres/usageHistory.ts';
import type { Dependencies } from '../dependencies.ts';
import { json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import type { AnalyticsBody } from './analyticsCache.ts';
import { analyticsQuery, type DayRange, daysOf } from './analyticsQuery.ts';
import { BILLING_DESCRIPTIONS } from './openapi.ts';
import { presentAnalytics } from './presentAnalytics.ts';

export const usageAnalyticsRoute = defineRoute({
  method: 'GET',
  path: '/billing/usage-analytics',
  access: 'admin',
  query: analyticsQuery,
  describes: BILLING_DESCRIPTIONS.analytics,
  async handler(dependencies, { caller, query }) {
    const { accountId } = caller;
    const { horizon, today } = await usageHorizon(dependencies.core.sql, accountId);
    const range = daysOf(query, today);
    const name = [accountId, range.days[0], range.days.at(-1), range.lookback].join(' ');
    const sum = () => ask(dependencies, { accountId, horizon, range });
    return json(await dependencies.accounts.analytics(name, horizon, sum));
  },
});

interface Question {
  accountId: string;
  horizon: string;
  range: DayRange;
}

async function ask(
  { core: { sql, config } }: Dependencies,
  { accountId, horizon, range }: Question,
): Promise<AnalyticsBody> {
  const firstDay = range.days[0] ?? '';
  const lastDay = range.days.at(-1) ?? firstDay;
  const analytics = await usageAnalytics(sql, { accountId, firstDay, lastDay, horizon });
  const ids = analytics.keys.flatMap(({ keyId }) => (keyId === null ? [] : [keyId]));
  const names = await keyNames(sql, accountId, ids);
  return presentAnalytics(analytics, {
    range,
    keyNames: names,
    modelTypeOf: (id) => modelTypeOf(config, id),
  });
}

/** Null for a model that left the catalogue, and for a product that is no model. */
function modelTypeOf(config: Config, id: string): string | null {
  const known = config.models.find((model) => model.id === id);
  return known?.type ?? null;
}

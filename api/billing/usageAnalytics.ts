/** GET /billing/usage-analytics (ACCOUNT-14): the billed amounts by day, by model and by key. */
import { LRUCache } from 'lru-cache';
import type { Config } from '../../infra/config/config.ts';
import { keyNames, usageAnalytics } from '../../infra/postgres/usageAnalytics.ts';
import { usageHorizon } from '../../infra/postgres/usageHistory.ts';
import type { Dependencies } from '../dependencies.ts';
import { json } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
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
    const { horizon, today } = await usageHorizon(dependencies.sql, accountId);
    const question = { accountId, horizon, range: daysOf(query, today) };
    return json(await remembered(dependencies, question));
  },
});

interface Question {
  accountId: string;
  horizon: string;
  range: DayRange;
}

type AnalyticsBody = ReturnType<typeof presentAnalytics>;

interface AnalyticsEntry {
  horizon: string;
  body: Promise<AnalyticsBody>;
  /** By the monotonic clock, in milliseconds. */
  startedAt: number;
  /** Undefined while it is being made. */
  tookMs: number | undefined;
}

const CACHE_LIFE_MS = 600_000;
/** Summing that took longer is not done again for every new entry, but every ten minutes. */
const DEAR_MS = 500;
const cache = new LRUCache<string, AnalyticsEntry>({ max: 200, ttl: CACHE_LIFE_MS });

/**
 * An answer is good as long as nothing was booked since, which its horizon tells; one that was dear to make is given
 * for its ten minutes all the same. Who asks while it is being made waits for the same one.
 */
async function remembered(dependencies: Dependencies, question: Question): Promise<AnalyticsBody> {
  const { accountId, horizon, range } = question;
  const name = [accountId, range.days[0], range.days.at(-1), range.lookback].join(' ');
  const known = cache.get(name);
  if (known && (known.horizon === horizon || isDear(known))) return await known.body;
  const body = ask(dependencies, question);
  const made: AnalyticsEntry = { horizon, body, startedAt: performance.now(), tookMs: undefined };
  cache.set(name, made);
  try {
    return await body;
  } catch (error) {
    if (cache.peek(name) === made) cache.delete(name);
    throw error;
  } finally {
    made.tookMs = performance.now() - made.startedAt;
  }
}

function isDear({ tookMs, startedAt }: AnalyticsEntry): boolean {
  return (tookMs ?? performance.now() - startedAt) > DEAR_MS;
}

async function ask(
  { sql, config }: Dependencies,
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

/** Null for a model that is no longer in the catalogue, and for what is no model. */
function modelTypeOf(config: Config, id: string): string | null {
  const known = config.models.find((model) => model.id === id);
  return known?.type ?? null;
}

/** Descriptions of the billing routes. */
import { answersWith, type RouteDescription } from '../http/describe.ts';
import { analyticsAnswer, balanceAnswer, retiredAnswer, usageAnswer } from './schema.ts';

type BillingRoute = 'balance' | 'history' | 'analytics' | 'retired';

export const BILLING_DESCRIPTIONS: Record<BillingRoute, RouteDescription> = {
  balance: {
    group: 'Billing',
    operationId: 'showBalance',
    summary: 'What the account can spend',
    answers: answersWith(balanceAnswer),
    example: {},
  },
  history: {
    group: 'Billing',
    operationId: 'listUsage',
    summary: 'What was billed, entry by entry, newest first',
    description:
      'Pages stay as they are while new entries arrive; a cursor carries its filters and is sent alone. With ' +
      '`Accept: text/csv` the answer is CSV: a page with `x-next-cursor` where `pageSize` or `cursor` is given, else the ' +
      'whole range as one stream.',
    answers: {
      200: {
        means: 'A page, or CSV.',
        bodies: [{ schema: usageAnswer }, { mediaType: 'text/csv' }],
        headers: { 'x-next-cursor': 'With CSV pages: names the next one; missing on the last.' },
      },
    },
    example: { query: { pageSize: '10' } },
  },
  analytics: {
    group: 'Billing',
    operationId: 'showUsageAnalytics',
    summary: 'Spending by day, by model and by key',
    description: 'At most 90 days: a `lookback` such as `7d`, or `startDate` and `endDate`.',
    stage: 'beta',
    answers: answersWith(analyticsAnswer),
    example: { query: { lookback: '7d' } },
  },
  retired: {
    group: 'Billing',
    operationId: 'retiredUsage',
    summary: 'Retired on 2026-09-16',
    description: 'Use `GET /billing/usage-history`.',
    answers: { 410: { means: 'Gone.', bodies: [{ schema: retiredAnswer }] } },
    errors: ['rate_limited'],
    example: {},
  },
};

/** Every route of the public API. */
import { billingBalance } from './billing/balance.ts';
import { cancelJobRoute, listJobsRoute, showJobRoute } from './jobs/jobsRoutes.ts';
import { rateLimitLogRoutes, rateLimitsRoute } from './limits/rateLimitsRoutes.ts';
import type { Route } from './route.ts';
import { completeRoute } from './voiceChanger/complete.ts';
import { queueRoute } from './voiceChanger/queue.ts';
import { quoteRoute } from './voiceChanger/quote.ts';
import { retrieveRoute } from './voiceChanger/retrieve.ts';

export const ROUTES: readonly Route[] = [
  billingBalance,
  rateLimitsRoute,
  ...rateLimitLogRoutes,
  quoteRoute,
  queueRoute,
  retrieveRoute,
  completeRoute,
  listJobsRoute,
  showJobRoute,
  cancelJobRoute,
];

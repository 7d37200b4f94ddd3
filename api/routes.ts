/** Every route of the public API. */

import { AUDIO_ROUTES } from './audio/audioRoutes.ts';
import { listAuditRoute } from './audit/auditRoutes.ts';
import { parserRoute, scrapeRoute, searchRoute } from './augment/augmentRoutes.ts';
import { billingBalance } from './billing/balance.ts';
import { retiredUsage } from './billing/retiredUsage.ts';
import { usageAnalyticsRoute } from './billing/usageAnalytics.ts';
import { usageHistoryRoute } from './billing/usageHistory.ts';
import { characterRoute, charactersRoute, reviewsRoute } from './catalogue/charactersRoutes.ts';
import { compatibilityRoute, modelRoute, modelsRoute, traitsRoute } from './catalogue/modelsRoutes.ts';
import type { Route } from './http/route.ts';
import { IMAGE_ROUTES } from './images/imageRoutes.ts';
import { jobEventsRoute } from './jobs/eventsRoute.ts';
import { cancelJobRoute, listJobsRoute, showJobRoute } from './jobs/jobsRoutes.ts';
import {
  createKeyRoute,
  deleteKeyRoute,
  listKeysRoute,
  rotateKeyRoute,
  showKeyRoute,
  updateKeyRoute,
} from './keys/keyRoutes.ts';
import { web3KeyRoute, web3TokenRoute } from './keys/web3Routes.ts';
import { rateLimitLogRoutes, rateLimitsRoute } from './limits/rateLimitsRoutes.ts';
import { rpcNetworksRoute, rpcRoute } from './rpc/rpcRoutes.ts';
import { speechRoute } from './speech/speech.ts';
import { transcriptionsRoute } from './speech/transcriptions.ts';
import { voicesRoute } from './speech/voices.ts';
import { chatRoute } from './text/chatRoute.ts';
import { decisionRoutes } from './text/decisions/decisionRoutes.ts';
import { embeddingsRoute } from './text/embeddings.ts';
import { responsesRoute } from './text/responses/responsesRoute.ts';
import { retiredTranscriptions } from './video/retiredTranscriptions.ts';
import { VIDEO_ROUTES } from './video/videoRoutes.ts';
import { completeVoiceChangeRoute, queueRoute, retrieveVoiceChangeRoute } from './voiceChanger/queue.ts';
import { quoteRoute } from './voiceChanger/quote.ts';
import { listDeliveriesRoute, resendDeliveryRoute } from './webhooks/deliveryRoutes.ts';
import { rotateWebhookSecretRoute, webhookSecretRoute } from './webhooks/secretRoutes.ts';

import { topUpRoute } from './x402/topUpRoute.ts';
import { walletBalanceRoute, walletTransactionsRoute } from './x402/walletRoutes.ts';

export const ROUTES: readonly Route[] = [
  chatRoute,
  responsesRoute,
  embeddingsRoute,
  ...decisionRoutes,
  scrapeRoute,
  searchRoute,
  parserRoute,
  rpcNetworksRoute,
  rpcRoute,
  ...IMAGE_ROUTES,
  billingBalance,
  usageHistoryRoute,
  usageAnalyticsRoute,
  retiredUsage,
  topUpRoute,
  walletBalanceRoute,
  walletTransactionsRoute,
  rateLimitsRoute,
  ...rateLimitLogRoutes,
  modelsRoute,
  traitsRoute,
  compatibilityRoute,
  // Takes the rest of the path: paths of GET /models/… with a fixed word come first.
  modelRoute,
  charactersRoute,
  characterRoute,
  reviewsRoute,
  quoteRoute,
  queueRoute,
  retrieveVoiceChangeRoute,
  completeVoiceChangeRoute,
  ...AUDIO_ROUTES,
  transcriptionsRoute,
  speechRoute,
  voicesRoute,
  ...VIDEO_ROUTES,
  retiredTranscriptions,
  listJobsRoute,
  showJobRoute,
  jobEventsRoute,
  cancelJobRoute,
  listDeliveriesRoute,
  resendDeliveryRoute,
  webhookSecretRoute,
  rotateWebhookSecretRoute,
  listAuditRoute,
  listKeysRoute,
  createKeyRoute,
  updateKeyRoute,
  deleteKeyRoute,
  rotateKeyRoute,
  web3TokenRoute,
  web3KeyRoute,
  // Matches any word as an id: paths of GET /api_keys/… with a fixed word come first.
  showKeyRoute,
];

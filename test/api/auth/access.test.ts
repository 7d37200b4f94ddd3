/** Access to every route by its kind, so that each new route is decided upon and none changes unnoticed. */
import { expect, it } from 'vitest';
import { isForWallets } from '../../../api/auth/authenticate.ts';
import { ROUTES } from '../../../api/routes.ts';

const ACCESS: Record<string, string[]> = {
  open: [
    'DELETE /video/downloads/{token}',
    'GET /api_keys/generate_web3_key',
    'GET /billing/usage',
    'GET /video/downloads/{token}',
    'POST /api_keys/generate_web3_key',
    'POST /video/transcriptions',
    'POST /x402/top-up',
  ],
  key: ['GET /api_keys/rate_limits', 'GET /characters', 'GET /characters/{slug}', 'GET /characters/{slug}/reviews'],
  admin: [
    'DELETE /api_keys',
    'GET /api_keys',
    'GET /api_keys/rate_limit_logs',
    'GET /api_keys/rate_limits/log',
    'GET /api_keys/{id}',
    'GET /audit',
    'GET /billing/balance',
    'GET /billing/usage-analytics',
    'GET /billing/usage-history',
    'GET /webhooks/secret',
    'PATCH /api_keys',
    'POST /api_keys',
    'POST /api_keys/{id}/rotate',
    'POST /webhooks/secret/rotate',
  ],
  catalogue: [
    'GET /crypto/rpc/networks',
    'GET /image/styles',
    'GET /models',
    'GET /models/compatibility_mapping',
    'GET /models/traits',
    'GET /models/{model}',
  ],
  caller: [
    'GET /jobs',
    'GET /jobs/{queue_id}',
    'GET /jobs/{queue_id}/deliveries',
    'GET /jobs/{queue_id}/events',
    'POST /audio/complete',
    'POST /audio/retrieve',
    'POST /audio/voice-changer/complete',
    'POST /audio/voice-changer/retrieve',
    'POST /jobs/{queue_id}/cancel',
    'POST /jobs/{queue_id}/deliveries/{id}/resend',
    'POST /video/complete',
    'POST /video/retrieve',
  ],
  buyer: [
    'POST /audio/queue',
    'POST /audio/speech',
    'POST /audio/transcriptions',
    'POST /audio/voice-changer/queue',
    'POST /audio/voices',
    'POST /augment/scrape',
    'POST /augment/search',
    'POST /augment/text-parser',
    'POST /chat/completions',
    'POST /crypto/rpc/{network}',
    'POST /decisions',
    'POST /embeddings',
    'POST /image/background-remove',
    'POST /image/edit',
    'POST /image/generate',
    'POST /image/multi-edit',
    'POST /image/upscale',
    'POST /images/edits',
    'POST /images/generations',
    'POST /responses',
    'POST /systemone',
    'POST /video/queue',
  ],
  'own-wallet': ['GET /x402/balance/{walletAddress}', 'GET /x402/transactions/{walletAddress}'],
  quote: ['POST /audio/quote', 'POST /audio/voice-changer/quote', 'POST /video/quote'],
};

it('opens every route to exactly the callers that are listed for it', () => {
  const found: Record<string, string[]> = {};
  for (const { method, path, access } of ROUTES) {
    found[access] ??= [];
    found[access].push(`${method} ${path}`);
  }
  for (const routes of Object.values(found)) routes.sort();
  expect(found).toEqual(ACCESS);
});

it('lets wallets administer no keys and see no bills, models or characters', () => {
  const refused = /^\/(api_keys|billing|models|characters|audit|webhooks\/secret)/;
  for (const { path, access } of ROUTES) {
    if (access !== 'open' && refused.test(path)) expect(isForWallets(access), path).toBe(false);
  }
});

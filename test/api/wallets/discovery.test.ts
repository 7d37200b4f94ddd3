/** Answers to callers without a credential: payment offers, with Base first, and the sign-in challenge. */
import { decodePaymentRequiredHeader } from '@x402/core/http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../../api/http/answer.ts';
import { defineRoute } from '../../../api/http/route.ts';
import { createPaymentOffers } from '../../../api/wallets/paymentOffers.ts';
import { BASE_MAINNET, SOLANA_MAINNET } from '../../../domain/wallets.ts';
import type { PaymentNetwork, PaymentRequirement } from '../../../providers/payments/paymentNetwork.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { newWallet, RECEIVER, USDC, welcomeWallets } from './walletWorld.ts';

const ownRoute = defineRoute({
  method: 'GET',
  path: '/test/own/{walletAddress}',
  access: 'own-wallet',
  handler: async (_dependencies, { caller }) => json({ address: caller.wallet.address }),
});
const openRoute = defineRoute({
  method: 'POST',
  path: '/test/open',
  access: 'open',
  handler: async (_dependencies, { headers }) => json({ payment: headers['payment-signature'] }),
});

let api: TestApi;
beforeAll(async () => {
  api = await startApi({ routes: [ownRoute, openRoute] });
  welcomeWallets(api);
});
afterAll(() => api.stop());

it('sends payment offers and a sign-in challenge in the body and in the header', async () => {
  const response = await api.call('/chat/completions', { method: 'POST' });
  expect(response.status).toBe(402);
  const { host } = new URL(api.origin);
  const { authOptions, ...offer } = (await response.json()) as { authOptions: object; x402Version: number };
  expect(offer).toEqual({
    x402Version: 2,
    error: 'Authentication required',
    resource: {
      url: `${api.origin}/api/v1/chat/completions`,
      description: 'service API',
      mimeType: 'application/json',
    },
    accepts: [
      {
        ...{ scheme: 'exact', network: BASE_MAINNET, amount: '10000000', asset: USDC, payTo: RECEIVER },
        ...{ maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } },
      },
    ],
    extensions: {
      'sign-in-with-x': {
        info: {
          ...{ domain: host, uri: api.origin, version: '1', statement: 'Sign in to service' },
          nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
          issuedAt: expect.any(String),
          expirationTime: expect.any(String),
        },
        supportedChains: [
          { chainId: BASE_MAINNET, type: 'eip191' },
          { chainId: SOLANA_MAINNET, type: 'ed25519' },
        ],
        schema: expect.objectContaining({ type: 'object', required: expect.any(Array) }),
      },
    },
  });
  expect(authOptions).toBeDefined();
  expect(decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '')).toEqual(offer);
});

it('sends no offers and no error codes on a route for the wallet itself', async () => {
  const wallet = await newWallet(api);
  const path = `/test/own/${wallet.account.address}`;
  const stranger = await api.call(path);
  expect(await stranger.json()).toMatchObject({ accepts: [], extensions: { 'sign-in-with-x': {} } });
  const bad = await api.call(path, { headers: { 'sign-in-with-x': 'e30=' } });
  expect([bad.status, await bad.json()]).toEqual([401, { error: 'Invalid Sign-in-with-x signature' }]);
  const { secret } = await api.newKey('ADMIN');
  expect((await api.call(path, { key: secret })).status).toBe(401);
  const own = await api.call(path, { headers: { 'sign-in-with-x': await wallet.header() } });
  expect(await own.json()).toEqual({ address: wallet.account.address.toLowerCase() });
});

it('accepts a payment header on open routes alone', async () => {
  const headers = { 'payment-signature': 'e30=' };
  const passed = await api.call('/test/open', { method: 'POST', headers });
  expect(await passed.json()).toEqual({ payment: 'e30=' });
  const refused = await api.call('/chat/completions', { method: 'POST', headers });
  expect([refused.status, await refused.json()]).toEqual([
    400,
    { error: expect.any(String), code: 'PAYMENT_HEADER_NOT_ACCEPTED' },
  ]);
});

function network(name: string, offer: (amount: string) => Promise<PaymentRequirement>): PaymentNetwork {
  const nobody = () => Promise.reject(new Error('nobody pays here'));
  return {
    ...{ network: name, names: [], decimals: 6, feeBudget: 0n, offer },
    ...{ read: nobody, verify: nobody, settle: nobody, find: nobody },
  };
}

it('queries the networks once for many callers, puts Base first, and omits an unavailable one', async () => {
  let asked = 0;
  const offering = (name: string) =>
    network(name, async (amount) => {
      asked += 1;
      return {
        ...{ scheme: 'exact', network: name, amount, asset: 'a', payTo: 'b' },
        maxTimeoutSeconds: 1,
        extra: {},
      };
    });
  const away = network('eip155:1', () => Promise.reject(new Error('away')));
  const names = [SOLANA_MAINNET, 'eip155:84532', BASE_MAINNET];
  const offers = createPaymentOffers(new Map([away, ...names.map(offering)].map((each) => [each.network, each])));
  const told = await Promise.all(Array.from({ length: 100 }, () => offers.of('5000000')));
  expect(told[99]?.map(({ network }) => network)).toEqual([BASE_MAINNET, 'eip155:84532', SOLANA_MAINNET]);
  expect(asked).toBe(3);
});

/** PAYMENT-REQUIRED of every route, checked by the published x402 packages. */
import { decodePaymentRequiredHeader } from '@x402/core/http';
import { PaymentRequiredV2Schema, validatePaymentRequired } from '@x402/core/schemas';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { Route } from '../../../api/http/route.ts';
import { ROUTES } from '../../../api/routes.ts';
import { startWalletWorld, type TestWallet, type WalletWorld } from './walletWorld.ts';

let world: WalletWorld;
let broke: TestWallet;

beforeAll(async () => {
  world = await startWalletWorld();
  // Its account exists, with less than a wallet must have.
  broke = await world.wallet(50_000_000n);
});
afterAll(() => world.close());

interface RequestOptions {
  base?: string;
  headers?: Record<string, string>;
}

async function callRoute({ method, path }: Route, { base = '/api/v1', headers = {} }: RequestOptions = {}) {
  const place = `${base}${path.replace(/\{\w+\}/g, (name) => (name === '{network}' ? 'ethereum-mainnet' : 'unknown'))}`;
  const url = `${world.api.origin}${place}`;
  const response = await fetch(url, { method, headers });
  await response.arrayBuffer();
  return { url, status: response.status, header: response.headers.get('payment-required') };
}

const named = (routes: readonly Route[]) => routes.map((route) => [`${route.method} ${route.path}`, route] as const);

describe('the header of a 402', () => {
  const closed = ROUTES.filter(({ access }) => access !== 'open' && access !== 'own-wallet');
  const buying = ROUTES.filter(({ access }) => access === 'buyer');

  test.each(named(closed))('to a request without a credential is valid: %s', async (_, route) => {
    for (const base of ['/api/v1', '/v1']) {
      const { url, status, header } = await callRoute(route, { base });
      expect(status).toBe(402);
      const offer = validatePaymentRequired(decodePaymentRequiredHeader(header ?? ''));
      expect(offer).toMatchObject({ x402Version: 2, resource: { url } });
    }
  });

  test.each(named(buying))('to a wallet with too little credit is valid: %s', async (_, route) => {
    const { url, status, header } = await callRoute(route, { headers: { 'sign-in-with-x': await broke.header() } });
    expect(status).toBe(402);
    const offer = validatePaymentRequired(decodePaymentRequiredHeader(header ?? ''));
    expect(offer).toMatchObject({ x402Version: 2, resource: { url } });
  });

  // The reference server has routes with an empty `accepts` for sign-ins as well; its schema is of payments.
  test.each(named(ROUTES.filter(({ access }) => access === 'own-wallet')))(
    'has no payment to offer, and is valid otherwise, where only a wallet signs in: %s',
    async (_, route) => {
      const { url, status, header } = await callRoute(route);
      expect(status).toBe(402);
      const { accepts, ...offer } = decodePaymentRequiredHeader(header ?? '');
      expect(accepts).toEqual([]);
      expect(PaymentRequiredV2Schema.omit({ accepts: true }).parse(offer)).toMatchObject({ resource: { url } });
    },
  );

  it('to a top-up without a payment is valid, and its resource is one that the payment may name', async () => {
    for (const base of ['/api/v1', '/v1']) {
      const url = `${world.api.origin}${base}/x402/top-up`;
      const response = await fetch(url, { method: 'POST' });
      expect(response.status).toBe(402);
      const offer = decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '');
      expect(validatePaymentRequired(offer)).toMatchObject({
        resource: { url: `${world.api.origin}/api/v1/x402/top-up`, description: 'service API' },
      });
      expect(await response.json()).toEqual(offer);
      const payment = { x402Version: 2, resource: offer.resource, accepted: offer.accepts[0], payload: {} };
      const header = Buffer.from(JSON.stringify(payment)).toString('base64');
      const paid = await fetch(url, { method: 'POST', headers: { 'payment-signature': header } });
      expect(await paid.json()).not.toMatchObject({ message: expect.stringContaining('another resource') });
    }
  });
});

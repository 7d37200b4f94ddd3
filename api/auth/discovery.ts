/** The answer to a request without a credential: what it could pay and sign in with (api-facts 10.3, x402 version 2). */
import { randomBytes } from 'node:crypto';
import type { Config } from '../../infra/config/config.ts';
import { type Answer, json } from '../answer.ts';

const SIGN_IN_LIFE_MS = 5 * 60_000;

export type DiscoveryConfig = Pick<Config, 'publicUrl' | 'brand' | 'catalogue'>;

/** `path` is that of the request, without its query. The origin is the configured one, whatever `Host` says. */
export function discoveryAnswer(config: DiscoveryConfig, path: string): Answer {
  const offer = {
    x402Version: 2,
    error: 'Authentication required',
    resource: {
      url: `${config.publicUrl}${path}`,
      description: `${config.brand.name} API`,
      mimeType: 'application/json',
    },
    accepts: [],
    extensions: { 'sign-in-with-x': signIn(config) },
  };
  const authOptions = {
    apiKey: {
      header: 'Authorization: Bearer <API_KEY>',
      getKey: `${config.publicUrl}/docs`,
      docs: `${config.publicUrl}/docs`,
    },
    x402Wallet: {
      header: 'SIGN-IN-WITH-X',
      legacyHeader: 'X-Sign-In-With-X',
      topUp: `${config.publicUrl}/api/v1/x402/top-up`,
      docs: `${config.publicUrl}/docs`,
    },
  };
  const header = Buffer.from(JSON.stringify(offer)).toString('base64');
  return json({ ...offer, authOptions }, { status: 402, headers: { 'PAYMENT-REQUIRED': header } });
}

/** No chain is supported while no wallet network is configured. */
function signIn(config: DiscoveryConfig) {
  const now = Date.now();
  return {
    info: {
      domain: new URL(config.publicUrl).host,
      uri: config.publicUrl,
      version: '1',
      nonce: randomBytes(16).toString('hex'),
      issuedAt: new Date(now).toISOString(),
      expirationTime: new Date(now + SIGN_IN_LIFE_MS).toISOString(),
      statement: `Sign in to ${config.brand.name}`,
    },
    supportedChains: [],
  };
}

/**
 * Webhook calls of fal at the end of an order, with their signature. Sources: the page "Webhooks" of fal's
 * documentation (body, headers, signed message, JWKS) and the type `WebHookResponse` of its own client.
 */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Callback } from '../../../providers/shared/provider.ts';

export interface SigningKey {
  id: string;
  publicKey: KeyObject;
  privateKey: KeyObject;
}

export function newSigningKey(id: string): SigningKey {
  return { id, ...generateKeyPairSync('ed25519') };
}

/** The key in the form of `/.well-known/jwks.json`. */
export function toJwk({ id, publicKey }: SigningKey): object {
  const { x } = publicKey.export({ format: 'jwk' });
  return { kty: 'OKP', crv: 'Ed25519', kid: id, alg: 'EdDSA', use: 'sig', x };
}

export interface WebhookContent {
  requestId: string;
  /** Unix seconds. Default: now. */
  timestamp?: number;
  body: unknown;
}

const STUB_USER = 'auth0|stub-user';

export function signedCall({ requestId, timestamp, body }: WebhookContent, key: SigningKey): Callback {
  const bytes = Buffer.from(JSON.stringify(body));
  const time = String(timestamp ?? Math.floor(Date.now() / 1_000));
  const digest = createHash('sha256').update(bytes).digest('hex');
  const message = Buffer.from([requestId, STUB_USER, time, digest].join('\n'));
  return {
    headers: {
      'content-type': 'application/json',
      'x-fal-webhook-request-id': requestId,
      'x-fal-webhook-user-id': STUB_USER,
      'x-fal-webhook-timestamp': time,
      'x-fal-webhook-signature': sign(null, message, key.privateKey).toString('hex'),
    },
    body: bytes,
  };
}

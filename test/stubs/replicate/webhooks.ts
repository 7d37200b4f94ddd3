/** Signs webhook calls like the service: "Verify webhooks" in its documentation. */
import { createHmac } from 'node:crypto';

export const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of the account').toString('base64')}`;

export interface SignedCall {
  headers: Record<string, string>;
  body: Buffer;
}

export interface Signing {
  id?: string;
  atMs?: number;
  secret?: string;
}

let serial = 0;

export function signedCall(
  prediction: unknown,
  { id, atMs = Date.now(), secret = WEBHOOK_SECRET }: Signing = {},
): SignedCall {
  serial += 1;
  const messageId = id ?? `msg_${serial}`;
  const timestamp = String(Math.floor(atMs / 1_000));
  const body = Buffer.from(JSON.stringify(prediction));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${messageId}.${timestamp}.`).update(body).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  return { headers, body };
}

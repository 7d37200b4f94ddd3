/** Signatures by the Standard Webhooks convention: HMAC-SHA256 over `id.timestamp.body`, in base64 after `v1,`. */
import { createHmac } from 'node:crypto';

/** In the form that libraries of that convention expect. */
export function printSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

/** One signature per secret: a receiver with any of them accepts the message. `sentAt` is cut to whole seconds. */
export function signatureHeaders(
  secrets: readonly Buffer[],
  message: { id: string; sentAt: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(message.sentAt.getTime() / 1_000));
  const signed = `${message.id}.${timestamp}.${message.body}`;
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`);
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

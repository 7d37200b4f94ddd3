/**
 * Callback address of a provider. Its last part is a signature of 192 bits over the entry and the queue_id, so that
 * only a provider that got the address can wake the job.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type pg from 'pg';
import { signingKey } from './signingKey.ts';

/** Relative to the base path. */
export const CALLBACK_PATH = '/provider-callbacks/{provider}/{queue_id}/{token}';

const SIGNATURE_BYTES = 24;

export interface CallbackJob {
  provider: string;
  queueId: string;
}

/** Relative to the base path, with the parts of the job. */
export async function callbackPath(sql: pg.Pool, job: CallbackJob): Promise<string> {
  const token = (await signatureOf(sql, job)).toString('base64url');
  return CALLBACK_PATH.replace('{provider}', encodeURIComponent(job.provider))
    .replace('{queue_id}', job.queueId)
    .replace('{token}', token);
}

export async function isCallbackToken(sql: pg.Pool, job: CallbackJob, token: string): Promise<boolean> {
  const given = Buffer.from(token, 'base64url');
  if (given.length !== SIGNATURE_BYTES || !timingSafeEqual(given, await signatureOf(sql, job))) return false;
  // Only the canonical spelling of the bytes counts.
  return given.toString('base64url') === token;
}

async function signatureOf(sql: pg.Pool, { provider, queueId }: CallbackJob): Promise<Buffer> {
  const key = await signingKey(sql);
  const signed = createHmac('sha256', key).update(`provider callback ${queueId} ${provider}`);
  return signed.digest().subarray(0, SIGNATURE_BYTES);
}

/**
 * Address of a finished video for a short time, without a credential: its holder may fetch and delete. It has the
 * queue_id and a signature of 192 bits, so it cannot be guessed.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type pg from 'pg';
import { BASE_PATH } from '../../domain/basePaths.ts';
import type { Config } from '../../infra/config/config.ts';
import { signingKey } from '../../infra/postgres/signingKey.ts';

/** Relative to the base path. */
export const DOWNLOAD_PATH = '/video/downloads/{token}';

const ID_BYTES = 16;
const SIGNATURE_BYTES = 24;
const TOKEN = /^[A-Za-z0-9_-]{54}$/;

export async function downloadUrl({ config, sql }: { config: Config; sql: pg.Pool }, queueId: string): Promise<string> {
  const id = Buffer.from(queueId.replaceAll('-', ''), 'hex');
  const token = Buffer.concat([id, await signatureOf(sql, id)]).toString('base64url');
  return `${config.publicUrl}${BASE_PATH}${DOWNLOAD_PATH.replace('{token}', token)}`;
}

/** queue_id of a token; undefined for a token of another origin. */
export async function queueIdOfToken(sql: pg.Pool, token: string): Promise<string | undefined> {
  if (!TOKEN.test(token)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // The last character can have unused bits: only the canonical spelling counts.
  if (bytes.length !== ID_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== token) return undefined;
  const id = bytes.subarray(0, ID_BYTES);
  if (!timingSafeEqual(bytes.subarray(ID_BYTES), await signatureOf(sql, id))) return undefined;
  const hex = id.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

async function signatureOf(sql: pg.Pool, id: Buffer): Promise<Buffer> {
  const key = await signingKey(sql);
  return createHmac('sha256', key).update('video download ').update(id).digest().subarray(0, SIGNATURE_BYTES);
}

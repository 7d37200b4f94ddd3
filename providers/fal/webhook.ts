/**
 * Checks whether a call comes from fal. The Ed25519 signature covers the ids, the time and the hash of the body, and
 * uses one of the keys that fal publishes. Source: the page "Webhooks" of its documentation (verifying your webhook).
 * Fetched keys stay in process memory and may be lost.
 */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import type { ServiceHttp } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { rejectOnAbort } from '../../infra/rejectOnAbort.ts';
import type { Callback } from '../shared/provider.ts';
import { createSeenCalls } from '../shared/seenCalls.ts';
import { parseJson } from '../shared/textFailures.ts';

/** Published tolerance between the time of a call and the local clock. */
const TOLERANCE_MS = 300_000;
/** Keys may be cached for a day. Fetching them hourly drops a withdrawn key sooner. */
const FRESH_MS = 3_600_000;
const USABLE_MS = 24 * 3_600_000;
/** Minimum pause between fetches, so that forged calls cannot cause more. */
const PAUSE_MS = 60_000;
const FETCH_MS = 10_000;
const MAX_KEYS = 20;

const id = z.string().regex(/^[\x21-\x7e]{1,200}$/);
const signedHeaders = z.object({
  'x-fal-webhook-request-id': id,
  'x-fal-webhook-user-id': id,
  'x-fal-webhook-timestamp': z.string().regex(/^\d{1,12}$/),
  'x-fal-webhook-signature': z.string().regex(/^[0-9a-f]{128}$/i),
});
const keySet = z.object({ keys: z.array(z.unknown()) });
const publicKey = z.object({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string().max(100) });

interface Keys {
  list: readonly KeyObject[];
  fetchedAtMs: number;
}

/** `rest`: host that publishes the keys; it needs no credential. */
export function createWebhookCheck(rest: ServiceHttp): (call: Callback, signal: AbortSignal) => Promise<boolean> {
  const keysNow = createKeyring(rest);
  const isFirst = createSeenCalls();
  return async ({ headers, body }, signal) => {
    const read = signedHeaders.safeParse(headers);
    if (!read.success) return false;
    const sentAtMs = Number(read.data['x-fal-webhook-timestamp']) * 1_000;
    if (Math.abs(Date.now() - sentAtMs) > TOLERANCE_MS) return false;
    const message = signedMessage(read.data, body);
    const signature = Buffer.from(read.data['x-fal-webhook-signature'], 'hex');
    const signed = (keys: readonly KeyObject[]) => keys.some((key) => verify(null, message, key, signature));
    const genuine = signed(await keysNow('any', signal)) || signed(await keysNow('newer', signal));
    return genuine && isFirst(message.toString('latin1'), sentAtMs + TOLERANCE_MS);
  };
}

function signedMessage(headers: z.infer<typeof signedHeaders>, body: Buffer): Buffer {
  const parts = [
    headers['x-fal-webhook-request-id'],
    headers['x-fal-webhook-user-id'],
    headers['x-fal-webhook-timestamp'],
    createHash('sha256').update(body).digest('hex'),
  ];
  return Buffer.from(parts.join('\n'), 'utf8');
}

/** `newer`: fetch again, since a key may have been added. Returns an empty list if no keys are available. */
function createKeyring(rest: ServiceHttp) {
  let kept: Keys = { list: [], fetchedAtMs: Number.NEGATIVE_INFINITY };
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | undefined;
  const renew = async () => {
    triedAtMs = Date.now();
    const list = await fetchKeys(rest);
    if (list.length > 0) kept = { list, fetchedAtMs: Date.now() };
  };
  return async (wanted: 'any' | 'newer', signal: AbortSignal): Promise<readonly KeyObject[]> => {
    const ageMs = Date.now() - kept.fetchedAtMs;
    const due = wanted === 'newer' || ageMs > FRESH_MS;
    if (running === undefined && due && Date.now() - triedAtMs > PAUSE_MS) {
      // All waiters share this fetch, so no caller may abort it.
      running = renew().finally(() => {
        running = undefined;
      });
    }
    if (due && running !== undefined) await rejectOnAbort(running, signal);
    return Date.now() - kept.fetchedAtMs > USABLE_MS ? [] : kept.list;
  };
}

async function fetchKeys(rest: ServiceHttp): Promise<KeyObject[]> {
  try {
    const signal = AbortSignal.timeout(FETCH_MS);
    const reply = await rest.request({ method: 'GET', path: '/.well-known/jwks.json', signal });
    if (reply.status !== 200) return [];
    const found = keySet.safeParse(parseJson(reply.body)).data?.keys ?? [];
    return found.slice(0, MAX_KEYS).flatMap(toKey);
  } catch (error) {
    if (error instanceof ServiceHttpError) return [];
    throw error;
  }
}

function toKey(entry: unknown): KeyObject[] {
  const jwk = publicKey.safeParse(entry).data;
  if (jwk === undefined) return [];
  try {
    return [createPublicKey({ key: jwk, format: 'jwk' })];
  } catch {
    // Skip bytes that are not a valid key.
    return [];
  }
}

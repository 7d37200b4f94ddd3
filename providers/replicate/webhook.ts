/**
 * Checks whether a callback comes from the service: HMAC-SHA-256 over `id.timestamp.body` in `webhook-signature`
 * (Standard Webhooks), with the secret of the account. Sources: the service's pages "Verify webhooks" and
 * webhooks.default.secret.get, and `validateWebhook` of its JavaScript client, which does not check the time.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ServiceHttp } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import type { Callback } from '../shared/provider.ts';
import { createSeenCalls } from '../shared/seenCalls.ts';
import { parseJson } from '../shared/textFailures.ts';

const TOLERANCE_MS = 5 * 60_000;
const MAX_SIGNATURES = 16;
/** Lifetime of a fetched secret. It is fetched at most once a minute, however many forged calls arrive. */
const SECRET_LIFE_MS = 60 * 60_000;
const SECRET_PAUSE_MS = 60_000;
const SECRET_WAIT_MS = 10_000;

const secretBody = z.object({ key: z.string().regex(/^(whsec_)?[A-Za-z0-9+/]{16,500}={0,2}$/) });

export function createWebhookCheck(api: ServiceHttp): (call: Callback) => Promise<boolean> {
  const secret = createSecret(api);
  const isFirst = createSeenCalls();
  return async (call) => {
    const signed = readSigned(call, Date.now());
    if (!signed) return false;
    const genuine = await secret.some((key) => isSignedWith(key, signed, call.body));
    return genuine && isFirst(signed.id, Date.now() + 2 * TOLERANCE_MS);
  };
}

interface WebhookSignature {
  id: string;
  timestamp: string;
  signatures: Buffer[];
}

/** Undefined: a header is missing or malformed, or the time is outside the tolerance. */
function readSigned({ headers }: Callback, nowMs: number): WebhookSignature | undefined {
  const id = headers['webhook-id'] ?? '';
  const timestamp = headers['webhook-timestamp'] ?? '';
  if (!/^[\w.-]{1,200}$/.test(id) || !/^\d{1,12}$/.test(timestamp)) return undefined;
  if (Math.abs(nowMs - Number(timestamp) * 1_000) > TOLERANCE_MS) return undefined;
  const signatures = (headers['webhook-signature'] ?? '')
    .split(' ')
    .slice(0, MAX_SIGNATURES)
    .flatMap((each) => (each.startsWith('v1,') ? [Buffer.from(each.slice(3), 'base64')] : []));
  return signatures.length === 0 ? undefined : { id, timestamp, signatures };
}

function isSignedWith(key: Buffer, { id, timestamp, signatures }: WebhookSignature, body: Buffer): boolean {
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
}

interface Secret {
  /** Tries the known secret. If it is old or does not fit, fetches it again, because it may have been replaced. */
  some(fits: (key: Buffer) => boolean): Promise<boolean>;
}

function createSecret(api: ServiceHttp): Secret {
  let known: { key: Buffer; readAtMs: number } | undefined;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    askedAtMs = Date.now();
    const key = await readSecret(api);
    if (key) known = { key, readAtMs: askedAtMs };
  }

  return {
    async some(fits) {
      const fresh = known !== undefined && Date.now() - known.readAtMs < SECRET_LIFE_MS;
      if (known && fresh && fits(known.key)) return true;
      if (asking === undefined && Date.now() - askedAtMs < SECRET_PAUSE_MS) return false;
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      await asking;
      return known !== undefined && Date.now() - known.readAtMs < SECRET_LIFE_MS && fits(known.key);
    },
  };
}

/** Undefined: not available now. Waiting jobs are polled anyway. */
async function readSecret(api: ServiceHttp): Promise<Buffer | undefined> {
  try {
    const signal = AbortSignal.timeout(SECRET_WAIT_MS);
    const reply = await api.request({ method: 'GET', path: '/v1/webhooks/default/secret', signal });
    const parsed = secretBody.safeParse(parseJson(reply.body));
    if (reply.status !== 200 || !parsed.success) return undefined;
    return Buffer.from(parsed.data.key.replace(/^whsec_/, ''), 'base64');
  } catch (error) {
    if (error instanceof ServiceHttpError) return undefined;
    throw error;
  }
}

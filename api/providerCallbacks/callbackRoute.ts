/**
 * POST /provider-callbacks/…: a provider tells that a job is over. That only wakes the job, which then asks the provider
 * itself: nothing of what is told here is believed, and a call that is lost costs a pause between two questions.
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { FareboxError } from '../../domain/errors.ts';
import { CALLBACK_PATH, isCallbackToken } from '../../infra/postgres/callbackToken.ts';
import { recordCallback } from '../../infra/postgres/submissions.ts';
import type { Callback } from '../../providers/shared/provider.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json } from '../http/answer.ts';
import { limitAddress } from '../http/limitRoute.ts';
import { defineRoute, type RouteRequest } from '../http/route.ts';
import { isQueueId } from '../queue/findOwnJob.ts';
import { wakeGeneration } from '../queue/generationClient.ts';

const BODY_BYTES = 1024 * 1024;
/** A provider that waits longer for our answer takes us for dead; its keys may have to be fetched meanwhile. */
const VERIFY_LIMIT_MS = 5_000;
const DEADLINE_MS = 10_000;

/** Called by services, not by clients: it stands in no description of the API. */
export const callbackRoute = defineRoute({
  method: 'POST',
  path: CALLBACK_PATH,
  access: 'open',
  body: { raw: { maxBytes: BODY_BYTES } },
  deadlineMs: DEADLINE_MS,
  async beforeBody(dependencies, { params, address }) {
    const { provider = '', queue_id: queueId = '', token = '' } = params;
    if (isQueueId(queueId) && (await isCallbackToken(dependencies.core.sql, { provider, queueId }, token))) return;
    const perMinute = dependencies.core.config.limits.perAddressPerMinute;
    await limitAddress(dependencies.limits.calls, address, {
      path: CALLBACK_PATH,
      perMinute,
      what: ' for unknown jobs',
    });
    throw notThere();
  },
  async handler(dependencies, request: RouteRequest<Buffer, undefined, 'open'>): Promise<Answer> {
    const { provider = '', queue_id: queueId = '' } = request.params;
    const { sql } = dependencies.core;
    if (!(await isGenuine(dependencies, provider, request))) throw notThere();
    const digest = createHash('sha256').update(request.body).digest();
    if (await recordCallback(sql, { queueId, provider, digest })) await wake(dependencies, queueId, request);
    return json({ received: true });
  },
});

async function isGenuine(
  { jobs: { callers } }: Dependencies,
  provider: string,
  { headers, body, log }: RouteRequest<Buffer, undefined, 'open'>,
): Promise<boolean> {
  const adapter = callers().get(provider);
  if (!adapter?.isGenuine) return false;
  try {
    const call: Callback = { headers: flat(headers), body };
    if (await adapter.isGenuine(call, AbortSignal.timeout(VERIFY_LIMIT_MS))) return true;
    log.warn({ provider }, 'a call in the name of a provider was not its own');
  } catch (err) {
    log.warn({ err, provider }, 'the call of a provider could not be verified');
  }
  return false;
}

/** A header that came several times has no one value that could be signed. */
function flat(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The job is asked for at its usual times anyway: whoever called need not hear that it was not woken. */
async function wake(
  { jobs: { temporal } }: Dependencies,
  queueId: string,
  { log }: Pick<RouteRequest<Buffer, undefined, 'open'>, 'log'>,
): Promise<void> {
  try {
    await wakeGeneration(temporal, queueId);
  } catch (err) {
    log.warn({ err, queueId }, 'a job was not woken');
  }
}

function notThere(): FareboxError {
  return new FareboxError({ code: 'route_not_found', message: 'The requested resource does not exist.' });
}

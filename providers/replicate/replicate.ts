/**
 * Replicate's HTTP API: an order is a prediction, created, asked for by its id, and cancelled there. Source: the service's
 * OpenAPI description (api.replicate.com/openapi.json) and its pages on predictions, files and webhooks.
 *
 * There is no `find`. A prediction takes no reference of ours and no idempotency key: unknown members of a request are
 * refused, and the list of predictions shows ids, times, inputs (of the last hour only) and statuses, by which two equal
 * orders of the same minute cannot be told apart; that one is missing there does not say that it was never accepted. A guess
 * could hand one client's output to another, so a lost reply stays unknown. `Cancel-After` bounds what such a prediction
 * costs, since the service then ends it at the latest when the job's time is over.
 */
import { join } from 'node:path';
import { ProviderHttpError } from '../../infra/http/providerHttp.ts';
import { checkAudioFile } from '../shared/audioFile.ts';
import { fetchOutput } from '../shared/fetchOutput.ts';
import { withHeartbeat } from '../shared/heartbeat.ts';
import type {
  AudioRequest,
  CallContext,
  GenerationProvider,
  OperationHandle,
  Outcome,
  VideoRequest,
} from '../shared/provider.ts';
import { unserved } from '../shared/unserved.ts';
import { checkVideoFile } from '../shared/videoFile.ts';
import { outcomeOfQuestion, outcomeOfSubmission } from './errorReply.ts';
import { addressMedia, withAddresses } from './mediaInputs.ts';
import { modelInputs } from './modelInputs.ts';
import type { MediumKind } from './outputAddress.ts';
import { endedUnstarted, failed, type Prediction, readPrediction, standingOf } from './prediction.ts';
import { openReplicate, orderAddress, type ReplicateAccess, type ReplicateService } from './service.ts';
import { createWebhookCheck } from './webhook.ts';

export interface ReplicateOptions extends ReplicateAccess {
  /** How long a job may take: no prediction of ours outlives it. */
  deadlineMs: number;
}

const OUTPUT_LIMITS: Record<MediumKind, { maxBytes: number; timeoutMs: number }> = {
  audio: { maxBytes: 200_000_000, timeoutMs: 5 * 60_000 },
  video: { maxBytes: 2_000_000_000, timeoutMs: 20 * 60_000 },
};

export function createReplicate(options: ReplicateOptions): GenerationProvider {
  const service = openReplicate(options, options.deadlineMs);
  const { api } = service;
  return {
    repeatable: false,
    async start(request, context) {
      if (request.kind === 'voice-changer') return unserved(request);
      return await withHeartbeat(context, () => submit(service, request, context));
    },
    async check(operation, context) {
      return await withHeartbeat(context, () => ask(service, operation, context));
    },
    async cancel({ id }, { signal }) {
      const path = `/v1/predictions/${encodeURIComponent(String(id))}/cancel`;
      const reply = await api.request({ method: 'POST', path, signal }).catch(unlessOurs);
      const found = reply && readPrediction(reply.body);
      return found !== undefined && endedUnstarted(found);
    },
    isGenuine: createWebhookCheck(api),
  };
}

async function submit(
  service: ReplicateService,
  request: AudioRequest | VideoRequest,
  context: CallContext,
): Promise<Outcome> {
  const address = orderAddress(request.upstreamModel);
  if (address === undefined) return notServed(request.upstreamModel);
  const { model, path, version } = address;
  const inputs = modelInputs(model, request);
  if (!inputs.ok) return { status: 'refused', reason: 'invalid_request', message: inputs.message };
  const media = await addressMedia(service.api, request.kind === 'video' ? request.media : [], context);
  if (!media.ok) return media.outcome;
  const input = withAddresses(inputs.input, media.of);
  try {
    const reply = await service.api.request({
      method: 'POST',
      path,
      headers: { 'cancel-after': service.cancelAfter },
      json: { ...(version !== undefined && { version }), input, ...webhookOf(context) },
      signal: context.signal,
    });
    if (reply.status < 200 || reply.status > 299) return outcomeOfSubmission(reply);
    const found = readPrediction(reply.body);
    if (!found) return { status: 'unknown', detail: 'the order was accepted without a usable id' };
    return await conclude(service, { id: found.id, kind: request.kind, found }, context);
  } catch (error) {
    if (!(error instanceof ProviderHttpError)) throw error;
    const detail = error.message;
    // Refused, unresolvable, no TLS: nothing was accepted, so another try is safe.
    return error.sent === 'not_sent'
      ? { status: 'busy', reason: 'overloaded', detail }
      : { status: 'unknown', detail };
  }
}

function notServed(upstreamModel: string): Outcome {
  const message = 'The model is not available at the moment.';
  const detail = `not of the form owner/name or owner/name:version: ${upstreamModel.slice(0, 200)}`;
  return { status: 'refused', reason: 'credential', message, detail };
}

/** The service calls back by https only, and would refuse the whole order for any other address. */
function webhookOf({ callbackUrl }: CallContext): Record<string, unknown> {
  if (!callbackUrl?.startsWith('https://')) return {};
  return { webhook: callbackUrl, webhook_events_filter: ['completed'] };
}

async function ask(
  service: ReplicateService,
  operation: OperationHandle,
  context: CallContext,
): Promise<Outcome> {
  const id = String(operation.id);
  const kind = operation.kind === 'video' ? 'video' : 'audio';
  try {
    const path = `/v1/predictions/${encodeURIComponent(id)}`;
    const reply = await service.api.request({ method: 'GET', path, signal: context.signal });
    if (reply.status < 200 || reply.status > 299) return outcomeOfQuestion(reply);
    const found = readPrediction(reply.body);
    if (!found) return { status: 'unknown', detail: 'the answer is no prediction' };
    return await conclude(service, { id, kind, found }, context);
  } catch (error) {
    if (error instanceof ProviderHttpError) return { status: 'unknown', detail: error.message };
    throw error;
  }
}

interface Answer {
  id: string;
  kind: MediumKind;
  found: Prediction;
}

async function conclude(
  service: ReplicateService,
  { id, kind, found }: Answer,
  context: CallContext,
): Promise<Outcome> {
  if (found.id !== id) return { status: 'unknown', detail: 'the answer is about another prediction' };
  const standing = standingOf(found, kind);
  switch (standing.is) {
    case 'running': {
      const { percent } = standing;
      return { status: 'running', operation: { id, kind }, ...(percent !== undefined && { percent }) };
    }
    case 'over':
      return standing.outcome;
    case 'succeeded':
      return await deliver(service, { id, kind, url: standing.url }, context);
  }
}

/** An output that could not be fetched now does not make the order a lost one: by its id it is asked for again. */
async function deliver(
  service: ReplicateService,
  { id, kind, url }: { id: string; kind: MediumKind; url: string },
  context: CallContext,
): Promise<Outcome> {
  const path = join(context.workFolder, 'replicate.output');
  const target = { path, ...OUTPUT_LIMITS[kind] };
  const fetched = await fetchOutput({ ...service, http: service.api }, url, { target, context });
  if (!fetched.ok) {
    return fetched.outcome.status === 'unknown'
      ? { status: 'running', operation: { id, kind } }
      : fetched.outcome;
  }
  const check = await (kind === 'video' ? checkVideoFile(path) : checkAudioFile(path));
  if (!check.ok) return failed(`prediction ${id}: ${check.detail}`);
  const providerReference = `replicate prediction ${id}`;
  return { status: 'done', output: { path, contentType: check.contentType, providerReference } };
}

/** A cancellation that did not arrive is made up for by `Cancel-After`. */
function unlessOurs(error: unknown): undefined {
  if (!(error instanceof ProviderHttpError)) throw error;
  return undefined;
}

/**
 * Predictions: creates an order, then polls or cancels it by its id. Source: the service's OpenAPI description
 * (api.replicate.com/openapi.json) and its page "Create a prediction".
 */
import { isSuccess } from '../../infra/http/serviceHttp.ts';
import type { ServiceQueue } from '../shared/waitFor.ts';
import { outcomeOfQuestion, outcomeOfSubmission } from './errorReply.ts';
import { endedBeforeStart, type Prediction, type PredictionTicket, readPrediction, stateOf } from './prediction.ts';
import type { ReplicateService } from './service.ts';

export interface PredictionOrder {
  path: string;
  version?: string;
  input: unknown;
  /** Time that the creation may block for the result; most models need no longer. */
  waitSeconds?: number;
  callbackUrl?: string | undefined;
}

export function createReplicateQueue({
  api,
  cancelAfter,
}: ReplicateService): ServiceQueue<PredictionOrder, PredictionTicket, Prediction> {
  const pathOf = ({ id }: PredictionTicket) => `/v1/predictions/${encodeURIComponent(id)}`;
  return {
    async submit({ path, version, input, waitSeconds, callbackUrl }, signal) {
      const wait = waitSeconds !== undefined && { prefer: `wait=${waitSeconds}` };
      const headers = { ...wait, 'cancel-after': cancelAfter };
      const json = { ...(version !== undefined && { version }), input, ...webhookOf(callbackUrl) };
      const reply = await api.request({ method: 'POST', path, headers, json, signal });
      if (!isSuccess(reply)) return outcomeOfSubmission(reply);
      const found = readPrediction(reply.body);
      if (found !== undefined) return stateOf(found);
      return { status: 'unknown', detail: 'the order was accepted without a usable id' };
    },
    async check(ticket, signal) {
      const reply = await api.request({ method: 'GET', path: pathOf(ticket), signal });
      if (!isSuccess(reply)) return outcomeOfQuestion(reply);
      const found = readPrediction(reply.body);
      if (found === undefined) return { status: 'unknown', detail: 'the answer is no prediction' };
      if (found.id === ticket.id) return stateOf(found);
      return { status: 'unknown', detail: 'the answer is about another prediction' };
    },
    /** `Cancel-After` covers a lost cancellation. */
    async cancel(ticket, signal) {
      const reply = await api.request({ method: 'POST', path: `${pathOf(ticket)}/cancel`, signal });
      const found = readPrediction(reply.body);
      return found !== undefined && endedBeforeStart(found);
    },
  };
}

/** The service takes https callbacks only, and refuses the order for any other URL. */
function webhookOf(callbackUrl: string | undefined): Record<string, unknown> {
  if (!callbackUrl?.startsWith('https://')) return {};
  return { webhook: callbackUrl, webhook_events_filter: ['completed'] };
}

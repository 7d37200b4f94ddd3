/**
 * fal's queue. Sources: its documentation of the queue (OpenAPI description included), of data retention and of errors,
 * and its own client (fal-ai/fal-js, libs/client/src/queue.ts). The queue is used because a direct request cannot be
 * interrupted. Its output is lost with the connection and still charged (pages "Synchronous requests" and "Queue").
 */
import { z } from 'zod';
import { isSuccess, type WholeReply } from '../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { parseJson } from '../shared/textFailures.ts';
import type { ServiceQueue } from '../shared/waitFor.ts';
import { outcomeOfError } from './errorReply.ts';
import { readStatus, readSubmitted } from './replies.ts';
import { type FalService, ORDER_HEADERS, orderPath } from './service.ts';

export interface FalOrder {
  endpoint: string;
  input: Readonly<Record<string, unknown>>;
  callbackUrl?: string | undefined;
}

export type FalTicket = { endpoint: string; requestId: string };

/** `readsLogs`: request the logs, the only source of progress. The result is the model's own output. */
export function createFalQueue(
  { queue }: FalService,
  { readsLogs }: { readsLogs: boolean },
): ServiceQueue<FalOrder, FalTicket, unknown> {
  const statusOf = async (ticket: FalTicket, signal: AbortSignal): Promise<WholeReply> => {
    const ask = (query?: { logs: '0' | '1' }) =>
      queue.request({ method: 'GET', path: `${orderPath(ticket)}/status`, ...(query && { query }), signal });
    if (!readsLogs) return await ask();
    return await ask({ logs: '1' }).catch((error: unknown) => {
      // Some models print endless logs.
      if (error instanceof ServiceHttpError && error.isTooLarge) return ask({ logs: '0' });
      throw error;
    });
  };
  return {
    async submit({ endpoint, input, callbackUrl }, signal) {
      const query = callbackUrl !== undefined && { query: { fal_webhook: callbackUrl } };
      const call = { method: 'POST', path: `/${endpoint}`, headers: ORDER_HEADERS, json: input } as const;
      const reply = await queue.request({ ...call, ...query, signal });
      if (!isSuccess(reply)) return outcomeOfError(reply, 'submit');
      const requestId = readSubmitted(reply);
      // The status says that the order was accepted, but it cannot be polled without the id.
      if (requestId === undefined) return { status: 'unknown', detail: `HTTP ${reply.status} without an id` };
      return { status: 'running', ticket: { endpoint, requestId } };
    },
    async check(ticket, signal) {
      const reply = await statusOf(ticket, signal);
      if (reply.status !== 200 && reply.status !== 202) return outcomeOfError(reply, 'status');
      const found = readStatus(reply);
      if (found === undefined) return { status: 'unknown', detail: 'the status is unreadable' };
      if (found.requestId !== undefined && found.requestId !== ticket.requestId) {
        return { status: 'unknown', detail: 'the status is of another order' };
      }
      if (!found.completed) return { status: 'running', ticket, percent: found.percent };
      const result = await queue.request({ method: 'GET', path: orderPath(ticket), signal });
      if (result.status !== 200) return outcomeOfError(result, 'result');
      return { status: 'succeeded', ticket, result: parseJson(result.body) };
    },
    /** Only a waiting order is removed for certain (`OK`). A running one is asked to stop and may continue. */
    async cancel(ticket, signal) {
      const reply = await queue.request({ method: 'PUT', path: `${orderPath(ticket)}/cancel`, signal });
      return REMOVED.safeParse(parseJson(reply.body)).success;
    },
  };
}

const REMOVED = z.object({ status: z.literal('OK') });

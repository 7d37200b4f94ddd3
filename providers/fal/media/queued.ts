/**
 * An order of fal's queue that is waited for. The queue and not its direct address: a direct request cannot be interrupted,
 * and what it made is lost with its connection and paid for nonetheless (fal's pages "Synchronous requests" and "Queue").
 * An order here is asked about as often as need be, and ended when nobody waits for it any more.
 */

import { UpstreamFailure } from '../../../domain/text/upstreamFailure.ts';
import { ProviderHttpError, type ProviderReply } from '../../../infra/http/providerHttp.ts';
import { asMediaFailure, failureOfOutcome, givenUp } from '../../shared/mediaFailures.ts';
import { orAborted } from '../../shared/orAborted.ts';
import { pause } from '../../shared/pause.ts';
import { lost } from '../../shared/textFailures.ts';
import { outcomeOfError, parseJson } from '../errorReply.ts';
import { readStatus, readSubmitted } from '../replies.ts';
import { ENDPOINT, type FalService, ORDER_HEADERS, orderPath } from '../service.ts';

export interface FalOrder {
  endpoint: string;
  input: Readonly<Record<string, unknown>>;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** Questions in a row that were not answered, before the order is given up. */
const MOST_UNANSWERED = 8;
/** To take an order in, or to be told that it is not wanted any more. */
const SUBMIT_MS = 30_000;
const CANCEL_MS = 10_000;

/** Answers the model's own result. Throws UpstreamFailure; then the order has ended or fal was told to end it. */
export async function runOrder(service: FalService, order: FalOrder, signal: AbortSignal): Promise<unknown> {
  if (!ENDPOINT.test(order.endpoint)) {
    throw new UpstreamFailure({ reason: 'no_model', detail: 'upstreamModel is no endpoint of fal' });
  }
  if (signal.aborted) throw givenUp(signal);
  // Not stopped with the caller: without the answer nobody could end the order that it takes in.
  const submitted = submit(service, order);
  const requestId = await orAborted(submitted, signal).catch((error: unknown) => {
    if (signal.aborted) void submitted.then((id) => cancel(service, { ...order, requestId: id }), ignore);
    throw asMediaFailure(error, signal);
  });
  const path = orderPath({ ...order, requestId });
  try {
    return await resultOf(service, { path, requestId }, signal);
  } catch (error) {
    const failure = asMediaFailure(error, signal);
    if (mayStillRun(failure)) void cancel(service, { ...order, requestId });
    throw failure;
  }
}

async function submit(service: FalService, { endpoint, input }: FalOrder): Promise<string> {
  const signal = AbortSignal.timeout(SUBMIT_MS);
  const call = { method: 'POST', path: `/${endpoint}`, headers: ORDER_HEADERS, json: input, signal } as const;
  const reply = await service.queue.request(call).catch((error: unknown) => {
    throw asMediaFailure(error, signal);
  });
  if (!isSuccess(reply)) throw failureOfOutcome(outcomeOfError(reply, 'submit'));
  const requestId = readSubmitted(reply);
  // Taken, as its status says, and not to be asked for without the id.
  if (requestId === undefined) throw lost(`HTTP ${reply.status} without an id`);
  return requestId;
}

interface Accepted {
  path: string;
  requestId: string;
}

async function resultOf(service: FalService, accepted: Accepted, signal: AbortSignal): Promise<unknown> {
  let unanswered = 0;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    await pause(pauseMs, signal);
    const answer = await ask(service, accepted, signal);
    if (answer.is === 'over') return answer.result;
    unanswered = answer.is === 'running' ? 0 : unanswered + 1;
    if (unanswered > MOST_UNANSWERED) throw lost('the order was not to be asked about any more');
    if (answer.is === 'unanswered' && answer.waitMs !== undefined) await pause(answer.waitMs, signal);
  }
}

type Answer =
  | { is: 'running' }
  | { is: 'over'; result: unknown }
  | { is: 'unanswered'; waitMs?: number | undefined };

async function ask(service: FalService, accepted: Accepted, signal: AbortSignal): Promise<Answer> {
  const { path, requestId } = accepted;
  try {
    const reply = await service.queue.request({ method: 'GET', path: `${path}/status`, signal });
    if (!isSuccess(reply)) return unansweredOr(reply, 'status');
    const status = readStatus(reply);
    const isOther = status?.requestId !== undefined && status.requestId !== requestId;
    if (status === undefined || isOther) return { is: 'unanswered' };
    if (!status.completed) return { is: 'running' };
    const result = await service.queue.request({ method: 'GET', path, signal });
    if (result.status !== 200) return unansweredOr(result, 'result');
    return { is: 'over', result: parseJson(result.body) };
  } catch (error) {
    const failure = asMediaFailure(error, signal);
    // An answer that is too large will be so again.
    const final = signal.aborted || (failure instanceof UpstreamFailure && failure.reason === 'garbage');
    if (final || !(error instanceof ProviderHttpError)) throw failure;
    return { is: 'unanswered' };
  }
}

/** Throws the refusals. */
function unansweredOr(reply: ProviderReply, stage: 'status' | 'result'): Answer {
  const outcome = outcomeOfError(reply, stage);
  if (outcome.status === 'refused') throw failureOfOutcome(outcome);
  const waitMs = outcome.status === 'busy' ? outcome.retryAfterMs : undefined;
  return { is: 'unanswered', waitMs };
}

/** Best effort, while nobody waits for it: whatever the service answers. */
async function cancel(
  service: FalService,
  order: Pick<FalOrder, 'endpoint'> & { requestId: string },
): Promise<void> {
  const signal = AbortSignal.timeout(CANCEL_MS);
  await service.queue.request({ method: 'PUT', path: `${orderPath(order)}/cancel`, signal }).catch(ignore);
}

/** The service's own word that it ended is the only one. */
function mayStillRun(failure: unknown): boolean {
  return !(failure instanceof UpstreamFailure) || failure.reason === 'timeout' || failure.reason === 'lost';
}

function isSuccess({ status }: ProviderReply): boolean {
  return status >= 200 && status <= 299;
}

function ignore(): void {}

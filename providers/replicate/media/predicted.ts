/**
 * A prediction that is waited for: its creation holds the answer back for a few seconds (`Prefer: wait`), which most models
 * need no more of, and then it is asked about. Source: the service's page "Create a prediction".
 */
import { UpstreamFailure } from '../../../domain/text/upstreamFailure.ts';
import { ProviderHttpError, type ProviderReply } from '../../../infra/http/providerHttp.ts';
import { asMediaFailure, failureOfOutcome, givenUp } from '../../shared/mediaFailures.ts';
import { orAborted } from '../../shared/orAborted.ts';
import { pause } from '../../shared/pause.ts';
import { lost } from '../../shared/textFailures.ts';
import { outcomeOfQuestion, outcomeOfSubmission } from '../errorReply.ts';
import { endOf, type Prediction, readPrediction } from '../prediction.ts';
import { orderAddress, type ReplicateService } from '../service.ts';

export interface Order {
  /** owner/name or owner/name:version. */
  upstreamModel: string;
  input: unknown;
}

/** Shorter than the service allows: before its answer nobody knows the id by which an order is cancelled. */
const WAIT_SECONDS = 10;
const SUBMIT_MS = 60_000;
const CANCEL_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;
const MOST_UNANSWERED = 8;

/** Answers the output. Throws UpstreamFailure; then the prediction has ended or the service was told to end it. */
export async function runPrediction(
  service: ReplicateService,
  order: Order,
  signal: AbortSignal,
): Promise<unknown> {
  if (signal.aborted) throw givenUp(signal);
  // Not stopped with the caller: without the answer nobody could end the order that it takes in.
  const submitted = submit(service, order);
  const created = await orAborted(submitted, signal).catch((error: unknown) => {
    if (signal.aborted) void submitted.then((made) => cancelUnlessOver(service, made), ignore);
    throw asMediaFailure(error, signal);
  });
  try {
    return await outputOf(service, created, signal);
  } catch (error) {
    const failure = asMediaFailure(error, signal);
    if (mayStillRun(failure)) void cancel(service, created.id);
    throw failure;
  }
}

async function submit(service: ReplicateService, { upstreamModel, input }: Order): Promise<Prediction> {
  const address = orderAddress(upstreamModel);
  if (address === undefined) {
    throw new UpstreamFailure({
      reason: 'no_model',
      detail: 'upstreamModel is not owner/name or owner/name:version',
    });
  }
  const { path, version } = address;
  const signal = AbortSignal.timeout(SUBMIT_MS);
  const headers = { prefer: `wait=${WAIT_SECONDS}`, 'cancel-after': service.cancelAfter };
  const json = { ...(version !== undefined && { version }), input };
  const reply = await service.api
    .request({ method: 'POST', path, headers, json, signal })
    .catch((error: unknown) => {
      throw asMediaFailure(error, signal);
    });
  if (!isSuccess(reply)) throw failureOfOutcome(outcomeOfSubmission(reply));
  const found = readPrediction(reply.body);
  if (found === undefined) throw lost('the order was accepted without a usable id');
  return found;
}

async function outputOf(
  service: ReplicateService,
  created: Prediction,
  signal: AbortSignal,
): Promise<unknown> {
  let found: Prediction | undefined = created;
  let unanswered = 0;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    if (found?.status === 'succeeded') return found.output;
    const end = found && endOf(found);
    if (end !== undefined) throw failureOfOutcome(end);
    unanswered = found === undefined ? unanswered + 1 : 0;
    if (unanswered > MOST_UNANSWERED) throw lost('the prediction was not to be asked about any more');
    await pause(pauseMs, signal);
    found = await ask(service, created.id, signal);
  }
}

/** Undefined where the question was not answered. Throws the refusals. */
async function ask(
  service: ReplicateService,
  id: string,
  signal: AbortSignal,
): Promise<Prediction | undefined> {
  try {
    const path = `/v1/predictions/${encodeURIComponent(id)}`;
    const reply = await service.api.request({ method: 'GET', path, signal });
    if (isSuccess(reply)) {
      const found = readPrediction(reply.body);
      return found?.id === id ? found : undefined;
    }
    const outcome = outcomeOfQuestion(reply);
    if (outcome.status === 'refused') throw failureOfOutcome(outcome);
    if (outcome.status === 'busy') await pause(outcome.retryAfterMs ?? 0, signal);
    return undefined;
  } catch (error) {
    const failure = asMediaFailure(error, signal);
    // An answer that is too large will be so again.
    const final = signal.aborted || (failure instanceof UpstreamFailure && failure.reason === 'garbage');
    if (final || !(error instanceof ProviderHttpError)) throw failure;
    return undefined;
  }
}

async function cancelUnlessOver(service: ReplicateService, found: Prediction): Promise<void> {
  if (found.status !== 'succeeded' && endOf(found) === undefined) await cancel(service, found.id);
}

/** Best effort, while nobody waits for it: `Cancel-After` makes up for one that did not arrive. */
async function cancel(service: ReplicateService, id: string): Promise<void> {
  const path = `/v1/predictions/${encodeURIComponent(id)}/cancel`;
  const signal = AbortSignal.timeout(CANCEL_MS);
  await service.api.request({ method: 'POST', path, signal }).catch(ignore);
}

/** The service's own word that it ended is the only one. */
function mayStillRun(failure: unknown): boolean {
  return !(failure instanceof UpstreamFailure) || failure.reason === 'timeout' || failure.reason === 'lost';
}

function isSuccess({ status }: ProviderReply): boolean {
  return status >= 200 && status <= 299;
}

function ignore(): void {}

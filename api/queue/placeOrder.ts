/**
 * Takes the order of every queue route: claims the Idempotency-Key, stores what the order needs, starts its workflow,
 * and lets the database decide whether the order stands when no answer comes.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../domain/caller.ts';
import type { Model } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { isRunning, wasWithdrawn } from '../../domain/jobs.ts';
import { findProvider } from '../../domain/providerKind.ts';
import type { Config } from '../../infra/config/config.ts';
import type { Logger } from '../../infra/log.ts';
import { closeOrder } from '../../infra/postgres/closedOrders.ts';
import { findClaimedOrder } from '../../infra/postgres/idempotency.ts';
import { confirmAcceptance, findJob, type JobRow } from '../../infra/postgres/jobs.ts';
import { inTransaction, type Sql, type SqlClient } from '../../infra/postgres/pool.ts';
import type { AcceptResult, GenerationInput, GenerationTiming } from '../../workflows/contract.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, withHeaders } from '../http/answer.ts';
import type { ReplayName, RouteRequest } from '../http/route.ts';
import { awaitOutcome, MAX_WAIT_MS, type WaitingRequest } from './awaitOutcome.ts';
import { cancelAfterMs } from './cancelAfter.ts';
import { ACCEPT_LIMIT_MS, submitGeneration } from './generationClient.ts';
import { type Claim, claimKey, renewClaim } from './idempotency.ts';

/**
 * The answer may take a little longer than the workflow may take to charge, so that none comes after we gave up; then
 * as long as the client waits for the outcome.
 */
export const QUEUE_DEADLINE_MS = ACCEPT_LIMIT_MS + 15_000 + MAX_WAIT_MS;

/** A busy machine may be late by a second or two; a dead one should not delay a job for much longer. */
const HEARTBEAT_MS = 5_000;

/** The request of an order, as its parts need it. */
export type OrderRequest = WaitingRequest & Pick<RouteRequest<unknown, unknown, 'key'>, 'requestId'>;

export interface JobOrder {
  /** Path of the route, for the `Idempotency-Key`. */
  route: string;
  /** Fields by which two requests with one key are compared. */
  body: Readonly<Record<string, unknown>>;
  inputOf(queueId: string): GenerationInput;
  /** Objects that the workflow needs in storage. */
  parts: OrderParts;
  answer(job: QueuedJob): Answer | Promise<Answer>;
}

export interface OrderParts {
  /**
   * Whether it is small enough to be stored while the order is submitted, which takes longer: the step that measures it
   * waits a moment for it (bench `jobs`). Objects that no step reads before the charge are stored before the order.
   */
  together: boolean;
  put(queueId: string): Promise<void>;
  remove(queueId: string): Promise<void>;
}

export interface QueuedJob {
  queueId: string;
  /** Model of the job: the catalogue may have changed. */
  modelId: string;
  durationSeconds: number | null;
  replayed: boolean;
}

/**
 * Throws FareboxError with the exact refusal; nothing is charged then. With `Prefer: wait=N` the answer also has the
 * progress of the job.
 */
export async function placeOrder(dependencies: Dependencies, request: OrderRequest, order: JobOrder): Promise<Answer> {
  const cancelAfter = cancelAfterMs(request.headers);
  // One time limit for both attempts: even with the wait of `Prefer`, an accepted order is answered before the deadline
  // of its route.
  const acceptBy = dependencies.core.clock.now() + ACCEPT_LIMIT_MS;
  const inputOf = (queueId: string) => limited(order.inputOf(queueId), { acceptBy, cancelAfter });
  const job = await queue(dependencies, request, { ...order, inputOf });
  const answer = await order.answer(job);
  const awaited = await awaitOutcome(dependencies, request, job.queueId);
  if (!awaited) return answer;
  return withHeaders(answer, { ...awaited.headers, 'x-service-job-state': awaited.job.state });
}

interface OrderLimits {
  acceptBy: number;
  cancelAfter: number | undefined;
}

function limited(input: GenerationInput, { acceptBy, cancelAfter }: OrderLimits): GenerationInput {
  const accepted = { ...input, acceptBy: Math.min(input.acceptBy, acceptBy) };
  if (cancelAfter === undefined) return accepted;
  return { ...accepted, timing: { ...input.timing, cancelAfterMs: cancelAfter } };
}

async function queue(dependencies: Dependencies, request: OrderRequest, order: JobOrder): Promise<QueuedJob> {
  const claim = await claimKey(dependencies.core.sql, {
    caller: request.caller,
    header: request.headers['idempotency-key'],
    route: order.route,
    body: order.body,
  });
  const replay = claim.known ? await heardReplay(dependencies, request, order.inputOf(claim.queueId)) : undefined;
  return replay ?? (await accept(dependencies, request, { order, claim }));
}

/**
 * A job that was charged may have lost its update when the Temporal server died. It stands, since its acceptance is
 * confirmed, and is submitted once more so that its workflow goes on at once.
 */
async function heardReplay(
  dependencies: Dependencies,
  { caller, log }: OrderRequest,
  input: GenerationInput,
): Promise<QueuedJob | undefined> {
  const { queueId } = input;
  const replay = await replayOf(dependencies, caller, queueId);
  if (replay?.isIdle)
    await submitGeneration(dependencies, input).catch((err: unknown) =>
      log.warn({ err, queueId }, 'an accepted job could not be asked for again'),
    );
  return replay;
}

/**
 * The first answer of this key, also when it was lost in transit: the row decides. Undefined when there was none, also
 * for a job that was withdrawn before any client heard of it: the key then stands for a new order.
 */
async function replayOf(
  { core: { sql } }: Dependencies,
  { accountId }: Caller,
  queueId: string,
): Promise<(QueuedJob & { isIdle: boolean }) | undefined> {
  const found = await findJob(sql, { queueId, accountId });
  const job = found?.state === 'accepted' ? await confirmAcceptance(sql, found) : found;
  if (!job || wasWithdrawn(job)) return undefined;
  return { ...describeJob(job), replayed: true, isIdle: job.state === 'accepted' };
}

/** Whether an order with this Idempotency-Key was accepted and stands: its repetition is answered without a charge. */
export async function isOrderReplay(sql: SqlClient, name: ReplayName): Promise<boolean> {
  const { accountId } = name;
  const queueId = await findClaimedOrder(sql, name);
  const job = queueId === undefined ? undefined : await findJob(sql, { queueId, accountId });
  return job !== undefined && !wasWithdrawn(job);
}

function describeJob({ queueId, modelId, durationSeconds }: JobRow) {
  return { queueId, modelId, durationSeconds };
}

interface Attempt {
  order: JobOrder;
  claim: Claim;
}

async function accept(dependencies: Dependencies, request: OrderRequest, attempt: Attempt): Promise<QueuedJob> {
  const { order, claim } = attempt;
  const { parts } = order;
  const input = order.inputOf(claim.queueId);
  await requireAnswering(dependencies, input, claim);
  const put = () => parts.put(input.queueId);
  const stored = parts.together ? nextTurn().then(put) : put();
  if (!parts.together) await stored;
  const answer = await submit(dependencies, request, { ...attempt, input, stored });
  await stored.catch(() => undefined);
  // A refusal may have been for an earlier request with this key: its reason may no longer hold.
  const old = answer === 'ended' || (!answer.accepted && claim.known && !claim.renewed);
  if (old) return await again(dependencies, request, attempt);
  if (claim.key !== undefined || !answer.accepted) await removeLate(dependencies.core, parts, input);
  if (answer.accepted) {
    const { durationSeconds = null } = answer;
    const { queueId, modelId } = input;
    return { queueId, modelId, durationSeconds, replayed: claim.known };
  }
  const { code, message, fields } = answer;
  throw new FareboxError({ code, message, ...(fields ? { fields } : {}) });
}

/** A provider whose circuit is open gets no new order; accepted orders wait within their deadline. */
async function requireAnswering(
  { jobs: { circuits } }: Dependencies,
  input: GenerationInput,
  { known }: Claim,
): Promise<void> {
  const restsMs = await circuits.restsMs(input.provider);
  if (restsMs === undefined) return;
  // An earlier request with this key may still be charged.
  const advice = known ? 'Please try again.' : 'Nothing was charged; please try again.';
  throw new FareboxError({
    code: 'unavailable',
    message: `The model ${input.modelId} does not answer at the moment. ${advice}`,
    internal: `the circuit of ${input.provider} is open`,
    retryAfterSeconds: restsMs / 1_000,
  });
}

interface Submission extends Attempt {
  input: GenerationInput;
  /** Without its objects the order cannot be accepted: waiting for the answer is then pointless. */
  stored: Promise<void>;
}

async function submit(
  dependencies: Dependencies,
  request: OrderRequest,
  submission: Submission,
): Promise<AcceptResult | 'ended'> {
  try {
    const answer = submitGeneration(dependencies, submission.input);
    return await Promise.race([answer, submission.stored.then(() => answer)]);
  } catch (error) {
    const accepted = await closeUnlessAccepted(dependencies, request, submission);
    if (accepted) return accepted;
    throw error;
  }
}

const DECISION_LIMIT_MS = 10_000;
const DECISION_PAUSE_MS = 250;

/**
 * The order may have arrived although its answer did not. A job in the database is accepted; when there is none, the
 * order is closed in the same transaction, so that no running attempt can charge for it. Throws FareboxError
 * `unavailable`, which says nothing about money, while the database cannot decide.
 */
async function closeUnlessAccepted(
  { core: { sql, clock } }: Dependencies,
  { log }: OrderRequest,
  { input, order, stored }: Submission,
): Promise<AcceptResult | undefined> {
  const { queueId } = input;
  const until = clock.now() + DECISION_LIMIT_MS;
  let job: JobRow | undefined;
  for (;;) {
    try {
      job = await inTransaction(sql, async (client) => {
        await closeOrder(client, input);
        return await confirmAcceptance(client, input);
      });
      break;
    } catch (cause) {
      if (clock.now() > until) throw undecided(queueId, cause);
      await sleep(DECISION_PAUSE_MS);
    }
  }
  if (job && !wasWithdrawn(job)) {
    log.warn({ queueId }, 'an order without an answer was accepted');
    return acceptedBy(job);
  }
  await stored.catch(() => undefined);
  await removeLate({ sql, log }, order.parts, input);
  return undefined;
}

function acceptedBy({ durationSeconds, chargeId, priceUsdNano }: JobRow): AcceptResult {
  const measured = durationSeconds === null ? {} : { durationSeconds };
  return { accepted: true, ...measured, chargeId, priceUsd: priceUsdNano.toString() };
}

function undecided(queueId: string, cause: unknown): FareboxError {
  const message =
    `Whether the job ${queueId} was accepted cannot be describeJob at the moment. ` +
    'Look at GET /jobs, or repeat the request with the same Idempotency-Key.';
  return new FareboxError({ code: 'unavailable', message, retryAfterSeconds: 5, cause });
}

/** Objects stored after the end of the job: by a concurrent request with the same key, or for a refused order. */
async function removeLate(
  { sql, log }: { sql: Sql; log: Logger },
  parts: OrderParts,
  { queueId, accountId }: GenerationInput,
): Promise<void> {
  try {
    const job = await findJob(sql, { queueId, accountId });
    if (!job || !isRunning(job.state)) await parts.remove(queueId);
  } catch (err) {
    // The order has its answer; the sweeper removes what is left.
    log.warn({ err, queueId }, 'a source may have been left behind');
  }
}

/**
 * The earlier attempt of the key was refused: this one gets a queue_id of its own, unless a concurrent request was
 * faster.
 */
async function again(dependencies: Dependencies, request: OrderRequest, attempt: Attempt): Promise<QueuedJob> {
  const { claim, order } = attempt;
  await order.parts.remove(claim.queueId);
  const replay = await replayOf(dependencies, request.caller, claim.queueId);
  if (replay) return replay;
  if (claim.renewed) {
    const message = 'Requests with this Idempotency-Key are still being decided; please try again.';
    throw new FareboxError({ code: 'unavailable', message, retryAfterSeconds: 1 });
  }
  const renewed = await renewClaim(dependencies.core.sql, request.caller, claim);
  return await accept(dependencies, request, { ...attempt, claim: renewed });
}

/** The job that an order of any kind becomes. */
export function jobOf(
  { core: { config, clock } }: Pick<Dependencies, 'core'>,
  { caller, requestId }: OrderRequest,
  { model, queueId }: { model: Model; queueId: string },
) {
  return {
    queueId,
    accountId: caller.accountId,
    keyId: caller.keyId,
    requestId,
    modelId: model.id,
    provider: model.provider,
    providerQueue: findProvider(config, model.provider)?.kind.isLocal ? 'media' : 'providers',
    acceptBy: clock.now() + ACCEPT_LIMIT_MS,
    timing: timingOf(config),
  } as const;
}

function timingOf(config: Config): GenerationTiming {
  return {
    acceptMs: ACCEPT_LIMIT_MS,
    deadlineMs: config.jobs.deadlineMinutes * 60_000,
    retentionMs: config.media.retentionHours * 3_600_000,
    pollFirstMs: config.jobs.pollFirstMs,
    pollLongestMs: config.jobs.pollLongestMs,
    heartbeatMs: HEARTBEAT_MS,
  };
}

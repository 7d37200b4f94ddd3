/**
 * The story of a queued generation, from the source to its deletion. It reads top to bottom; every step that touches the
 * world is an activity, every way out before the output is stored refunds and records why.
 */
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  setHandler,
  sleep,
} from '@temporalio/workflow';
import type {
  AcceptedTerms,
  EndJobResult,
  GenerateResult,
  Measurement,
  MeasureResult,
  OperationHandle,
  Refusal,
} from '../activities/types.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { webhookEventOf } from '../domain/webhooks.ts';
import {
  type AcceptResult,
  type CancelResult,
  type CompleteRequest,
  type CompleteResult,
  clientInputsOf,
  type GenerationInput,
  type GenerationResult,
} from './contract.ts';
import { acceptedUpdate, calledBackSignal, cancelUpdate, completeUpdate } from './messages.ts';
import { describeJob } from './operatorView.ts';
import { createSteps, type Steps } from './steps.ts';
import { notifyClient } from './webhook.ts';

type JobFailure = {
  state: 'failed' | 'timed_out' | 'cancelled';
  failure: { code: ErrorCode; message: string };
};

interface GenerationRun {
  input: GenerationInput;
  steps: Steps;
  /** Webhook deliveries to the client, awaited at the end of the job. */
  notifications: Promise<void>[];
  answer?: AcceptResult;
  source?: Measurement;
  /** Scope that a request to cancel interrupts: the measurement, or the generation. */
  interruptible?: CancellationScope;
  /** Ends the pause before the next poll of the provider. */
  calledBack?: () => void;
  /** A client waits for the answer. Without one, nothing is charged. */
  isAwaited: boolean;
  cancelRequested: boolean;
  /** Client's request to end the job, while the database decides. */
  endRequest?: Promise<boolean>;
  /** Set when the database let the client end the job. */
  ended?: { ending: JobFailure; result: EndJobResult };
  completeRequested: boolean;
  mediaGone: boolean;
  result: GenerationResult;
  /** Set when the job can no longer be refunded, or has been. */
  decided: boolean;
}

export async function generation(input: GenerationInput): Promise<GenerationResult> {
  const run: GenerationRun = {
    input,
    steps: createSteps(input),
    notifications: [],
    isAwaited: false,
    cancelRequested: false,
    completeRequested: false,
    mediaGone: false,
    result: { state: 'refused' },
    decided: false,
  };
  listen(run);
  run.answer = await accept(run);
  if (!run.answer.accepted) {
    const { code, message } = run.answer;
    run.result = { state: 'refused', failure: { code, message } };
    describeJob(input, run.result, message);
  } else {
    const ending = await produce(run);
    const stands = ending === 'stored' || (await close(run, ending)) === 'stored';
    run.decided = true;
    if (stands) await keep(run);
  }
  run.decided = true;
  // A cancellation by an operator must not cut off the answers to waiting clients.
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  // Only where there is something to wait for: waiting for nothing takes a turn, too.
  if (run.notifications.length > 0) await Promise.all(run.notifications);
  return run.result;
}

const NOT_ACCEPTED_IN_TIME: Refusal = {
  ok: false,
  code: 'unavailable',
  message: 'The job could not be accepted in time. Nothing was charged; please try again.',
};

/** Measures the source and charges for it; a refusal leaves nothing behind. */
async function accept(run: GenerationRun): Promise<AcceptResult> {
  const { input, steps } = run;
  try {
    // Without a caller that waits for the answer, the start must not charge: no client would learn of the charge. An
    // order that is withdrawn in this time ends at once, because its repetition waits for that end.
    await condition(() => run.isAwaited || run.cancelRequested, input.timing.acceptMs);
    // No client waits. An earlier attempt at this turn may have charged before the server died, so the database is read.
    if (!run.isAwaited || run.cancelRequested) return await abandon(run);
    run.interruptible = new CancellationScope({ cancellable: true });
    const measured = await run.interruptible.run(() => measure(run));
    if (!measured.ok) return await refuse(run, measured);
    run.source = measured.source;
    const charged = await steps.ledger.acceptJob({ job: input, source: measured.source });
    if (!charged.ok) return await refuse(run, charged);
    return recordAcceptance(run, charged);
  } catch {
    return await abandon(run);
  }
}

function recordAcceptance(
  run: GenerationRun,
  { durationSeconds, chargeId, priceUsd, paid }: AcceptedTerms,
): AcceptResult {
  const terms = { ...(durationSeconds === undefined ? {} : { durationSeconds }), chargeId, priceUsd };
  run.result = { state: 'accepted', ...terms };
  describeJob(run.input, run.result, `charged ${paid}; next: the provider`);
  return { accepted: true, ...terms };
}

/**
 * Whether the charge was made is unknown here: the database decides, and a charge is refunded. A job goes on when the
 * API told its client, from its row, that it stands.
 */
async function abandon(run: GenerationRun): Promise<AcceptResult> {
  const { input, steps } = run;
  const standing = await CancellationScope.nonCancellable(() =>
    steps.untilDone.abandonJob({ ...clientInputsOf(input), accountId: input.accountId }),
  );
  if (standing) return recordAcceptance(run, standing);
  return { accepted: false, code: NOT_ACCEPTED_IN_TIME.code, message: NOT_ACCEPTED_IN_TIME.message };
}

/** An order without media needs no measurement. */
function measure({ input, steps }: GenerationRun): Promise<MeasureResult> {
  const wordsOnly = input.kind === 'audio' || (input.kind === 'video' && input.mediaCount === 0);
  if (!wordsOnly) return steps.media.measureSource({ job: input });
  return Promise.resolve({ ok: true, source: { media: [] } });
}

async function refuse(run: GenerationRun, refusal: Refusal): Promise<AcceptResult> {
  await run.steps.ledger.discardSource(clientInputsOf(run.input));
  const { code, message, fields } = refusal;
  return { accepted: false, code, message, ...(fields ? { fields } : {}) };
}

/** Works with the provider until the output is stored, the provider refuses, the client cancels or time is up. */
async function produce(run: GenerationRun): Promise<'stored' | JobFailure> {
  const { deadlineMs, cancelAfterMs = deadlineMs } = run.input.timing;
  const production = new CancellationScope({ cancellable: true, timeout: deadlineMs });
  run.interruptible = production;
  const work = () => (cancelAfterMs < deadlineMs ? runProviderWithin(run, cancelAfterMs) : runProvider(run));
  try {
    return run.cancelRequested ? CANCELLED : await production.run(work);
  } catch (error) {
    if (!isCancellation(error)) return failed('provider_failed', 'The job could not be finished.');
    if (run.ended) return run.ended.ending;
    // An operator may cancel the workflow itself; then this scope, the root, is cancelled too.
    if (run.cancelRequested || CancellationScope.current().consideredCancelled) return CANCELLED;
    return TIMED_OUT;
  }
}

const CANCELLED: JobFailure = {
  state: 'cancelled',
  failure: { code: 'cancelled', message: 'The job was cancelled before its output was stored.' },
};
const CANCELLED_IN_TIME: JobFailure = {
  state: 'cancelled',
  failure: { code: 'cancelled', message: 'The job was cancelled: it took longer than Cancel-After allows.' },
};
const TIMED_OUT: JobFailure = {
  state: 'timed_out',
  failure: { code: 'timed_out', message: 'The job did not finish in time.' },
};

function failed(code: ErrorCode, message: string): JobFailure {
  return { state: 'failed', failure: { code, message } };
}

/** Ends the job at the client's limit, if the database allows it. */
async function runProviderWithin(run: GenerationRun, limitMs: number): Promise<'stored' | JobFailure> {
  const limit = new CancellationScope({ cancellable: true });
  limit
    .run(async () => {
      await sleep(limitMs);
      await endWithinBudget(run, CANCELLED_IN_TIME);
    })
    .catch(() => undefined);
  try {
    return await runProvider(run);
  } finally {
    limit.cancel();
  }
}

/**
 * The database decides before anything is interrupted. False: the provider cannot be stopped and the account's refunds
 * of today are used up, so the job goes on and its charge stands.
 */
async function endWithinBudget(run: GenerationRun, ending: JobFailure): Promise<boolean> {
  if (run.ended) return true;
  run.endRequest ??= requestEnd(run, ending).finally(() => {
    delete run.endRequest;
  });
  return await run.endRequest;
}

async function requestEnd(run: GenerationRun, ending: JobFailure): Promise<boolean> {
  const endInput = { ...clientInputsOf(run.input), ...ending, isEndedByClient: true };
  const result = await CancellationScope.nonCancellable(() => run.steps.untilDone.endJob(endInput));
  if (result.refused) {
    describeJob(run.input, run.result, 'not cancelled: its refund would exceed those of the day');
    return false;
  }
  run.ended = { ending, result };
  run.interruptible?.cancel();
  return true;
}

async function runProvider(run: GenerationRun): Promise<'stored' | JobFailure> {
  const { steps, input } = run;
  const { timing } = input;
  // It was measured before the charge, but a job that was resumed may have lost the result.
  const measured = run.source ? ({ ok: true, source: run.source } as const) : await measure(run);
  if (!measured.ok) return failed(measured.code, measured.message);
  const { source } = measured;
  let outcome: GenerateResult = await steps.provider.generate({ job: input, source });
  let isReplyLost = false;
  for (;;) {
    switch (outcome.kind) {
      case 'stored':
        return 'stored';
      case 'failed':
        return failed(outcome.code, outcome.message);
      case 'ended':
        return failed('provider_failed', 'The job was ended before its output was stored.');
      case 'running':
        outcome = await awaitOutcome(run, outcome.operation);
        break;
      case 'busy':
        await sleep(outcome.retryAfterMs);
        outcome = await steps.provider.generate({ job: input, source });
        break;
      case 'unknown':
        if (!outcome.askable && isReplyLost) return REPLY_LOST;
        isReplyLost = !outcome.askable;
        // A provider without a lookup stays silent: only an earlier running attempt can bring an output.
        await sleep(outcome.askable ? timing.pollLongestMs : timing.heartbeatMs + ATTEMPT_GRACE_MS);
        outcome = await steps.provider.generate({ job: input, source });
        break;
    }
  }
}

const REPLY_LOST: JobFailure = failed(
  'provider_unknown',
  "The provider's reply was lost, and it cannot be asked what became of the job.",
);
/** An attempt without a heartbeat that is not dead has this long to store its output. */
const ATTEMPT_GRACE_MS = 10_000;

/**
 * Polls until there is an outcome. A callback of the provider ends the pause between two polls, but only a few times:
 * each adds events to the history, and after that the usual times apply.
 */
async function awaitOutcome(run: GenerationRun, operation: OperationHandle): Promise<GenerateResult> {
  const ask = () => run.steps.polling.awaitOutcome({ job: run.input, operation });
  for (let callbacks = 0; callbacks < MAX_CALLBACKS; callbacks += 1) {
    const pause = new CancellationScope({ cancellable: true });
    run.calledBack = () => pause.cancel();
    try {
      return await pause.run(ask);
    } catch (error) {
      const calledBack = isCancellation(error) && !CancellationScope.current().consideredCancelled;
      if (!calledBack) throw error;
    }
  }
  delete run.calledBack;
  return await ask();
}

const MAX_CALLBACKS = 3;

/** Refunds and ends the job; the row decides when output and end race. */
async function close(run: GenerationRun, ending: JobFailure): Promise<'stored' | 'closed'> {
  return await CancellationScope.nonCancellable(async () => {
    const endInput = { ...clientInputsOf(run.input), ...ending };
    const ended = run.ended?.result ?? (await run.steps.untilDone.endJob(endInput));
    if (ended.state === 'stored') return 'stored';
    run.result = {
      ...run.result,
      state: ended.state,
      ...(ended.refundId ? { refundId: ended.refundId } : {}),
      failure: ending.failure,
    };
    describeJob(run.input, run.result, ending.failure.message);
    notifyIfSubscribed(run);
    return 'closed';
  });
}

/** Keeps the output until the client completes the job or its retention ends, then deletes it. */
async function keep(run: GenerationRun): Promise<void> {
  const { input, steps } = run;
  run.result = { ...run.result, state: 'stored' };
  describeJob(input, run.result, 'next: delivery, then deletion');
  notifyIfSubscribed(run);
  let done = run.completeRequested;
  try {
    done = await condition(() => run.completeRequested, input.timing.retentionMs);
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  await CancellationScope.nonCancellable(async () => {
    const as = done ? 'deleted' : 'expired';
    await steps.untilDone.removeMedia({ queueId: input.queueId, as });
    run.mediaGone = true;
    run.result = { ...run.result, state: as };
    describeJob(input, run.result, 'the media is gone, the charge stands');
    notifyIfSubscribed(run);
  });
}

function notifyIfSubscribed({ input, result, notifications }: GenerationRun): void {
  const event = webhookEventOf(result.state);
  if (event && input.webhook?.events.includes(event)) notifications.push(notifyClient(input, event));
}

function listen(run: GenerationRun): void {
  setHandler(acceptedUpdate, () => answer(run));
  setHandler(cancelUpdate, () => cancel(run));
  setHandler(completeUpdate, (request) => complete(run, request));
  setHandler(calledBackSignal, () => run.calledBack?.());
}

async function answer(run: GenerationRun): Promise<AcceptResult> {
  run.isAwaited = true;
  await condition(() => run.answer !== undefined);
  if (!run.answer) throw new Error('the answer was awaited and is missing');
  return run.answer;
}

async function cancel(run: GenerationRun): Promise<CancelResult> {
  if (run.decided) return { outcome: run.result.state === 'cancelled' ? 'cancelled' : 'too_late' };
  // Before it is charged there is nothing to refund.
  if (run.answer?.accepted) {
    if (!(await endWithinBudget(run, CANCELLED))) return { outcome: 'over_budget' };
  } else {
    run.cancelRequested = true;
    run.interruptible?.cancel();
  }
  await condition(() => run.decided);
  return { outcome: run.result.state === 'cancelled' ? 'cancelled' : 'too_late' };
}

async function complete(run: GenerationRun, request?: CompleteRequest): Promise<CompleteResult> {
  run.completeRequested = true;
  // Without an output there is nothing to remove; a later one is discarded at once. The row can be ahead of this
  // workflow: a client that was sent the output must not hear that it is gone while it is not.
  const stored = request?.stored || (run.decided && run.result.state === 'stored');
  if (!stored) return { outcome: 'deleted' };
  const gone = await condition(() => run.mediaGone, 5_000);
  return { outcome: gone ? 'deleted' : 'pending' };
}

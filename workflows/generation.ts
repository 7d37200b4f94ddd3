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
  type GenerationInput,
  type GenerationResult,
  clientInputsOf,
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
  /** What the client is told of: started, never waited for while the job goes on. */
  told: Promise<void>[];
  answer?: AcceptResult;
  source?: Measurement;
  /** What a wish to cancel interrupts: the measuring, or the conversation with the provider. */
  interruptible?: CancellationScope;
  /** Ends the pause before the next question to the provider. */
  calledBack?: () => void;
  /** Somebody waits for the answer; without that nothing is charged. */
  asked: boolean;
  cancelRequested: boolean;
  /** The client's wish to end it, while the books decide. */
  wish?: Promise<boolean>;
  /** How the client has ended it, and what the books say of that. */
  ended?: { ending: JobFailure; result: EndJobResult };
  completeRequested: boolean;
  mediaGone: boolean;
  result: GenerationResult;
  /** Set when the job can no longer be refunded, or has been. */
  decided: boolean;
}

export async function generation(input: GenerationInput): Promise<GenerationResult> {
  const story: GenerationRun = {
    input,
    steps: createSteps(input),
    told: [],
    asked: false,
    cancelRequested: false,
    completeRequested: false,
    mediaGone: false,
    result: { state: 'refused' },
    decided: false,
  };
  listen(story);
  story.answer = await accept(story);
  if (!story.answer.accepted) {
    const { code, message } = story.answer;
    story.result = { state: 'refused', failure: { code, message } };
    describeJob(input, story.result, message);
  } else {
    const ending = await produce(story);
    const stands = ending === 'stored' || (await close(story, ending)) === 'stored';
    story.decided = true;
    if (stands) await keep(story);
  }
  story.decided = true;
  // An operator's cancellation must not cut off the answers that clients wait for.
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  // Only where there is something to wait for: waiting for nothing takes a turn, too.
  if (story.told.length > 0) await Promise.all(story.told);
  return story.result;
}

const UNHEARD: Refusal = {
  ok: false,
  code: 'unavailable',
  message: 'The job could not be accepted in time. Nothing was charged; please try again.',
};

/** Measures the source and charges for it; every refusal leaves nothing behind. */
async function accept(story: GenerationRun): Promise<AcceptResult> {
  const { input, steps } = story;
  try {
    // A start whose caller is already gone must not become a charge that nobody hears of. One that is taken back meanwhile
    // ends now: whoever repeats it waits for that.
    await condition(() => story.asked || story.cancelRequested, input.timing.acceptMs);
    // Nobody waits for the answer. An earlier attempt at this turn may have charged and been lost when the server died.
    if (!story.asked || story.cancelRequested) return await abandon(story);
    story.interruptible = new CancellationScope({ cancellable: true });
    const measured = await story.interruptible.run(() => measure(story));
    if (!measured.ok) return await refuse(story, measured);
    story.source = measured.source;
    const charged = await steps.ledger.acceptJob({ job: input, source: measured.source });
    if (!charged.ok) return await refuse(story, charged);
    return stand(story, charged);
  } catch {
    return await abandon(story);
  }
}

function stand(
  story: GenerationRun,
  { durationSeconds, chargeId, priceUsd, paid }: AcceptedTerms,
): AcceptResult {
  const terms = { ...(durationSeconds === undefined ? {} : { durationSeconds }), chargeId, priceUsd };
  story.result = { state: 'accepted', ...terms };
  describeJob(story.input, story.result, `charged ${paid}; next: the provider`);
  return { accepted: true, ...terms };
}

/**
 * Whether the charge was made is not known here: the books decide, and what they hold is given back. A job goes on whose client
 * was told by the API, from its row, that it stands.
 */
async function abandon(story: GenerationRun): Promise<AcceptResult> {
  const { input, steps } = story;
  const standing = await CancellationScope.nonCancellable(() =>
    steps.untilDone.abandonJob({ ...clientInputsOf(input), accountId: input.accountId }),
  );
  if (standing) return stand(story, standing);
  return { accepted: false, code: UNHEARD.code, message: UNHEARD.message };
}

/** An order of words alone has nothing to be measured. */
function measure({ input, steps }: GenerationRun): Promise<MeasureResult> {
  const wordsOnly = input.kind === 'audio' || (input.kind === 'video' && input.mediaCount === 0);
  if (!wordsOnly) return steps.media.measureSource({ job: input });
  return Promise.resolve({ ok: true, source: { media: [] } });
}

async function refuse(story: GenerationRun, refusal: Refusal): Promise<AcceptResult> {
  await story.steps.ledger.discardSource(clientInputsOf(story.input));
  const { code, message, fields } = refusal;
  return { accepted: false, code, message, ...(fields ? { fields } : {}) };
}

/** Talks to the provider until the output is stored, the provider says no, the client cancels or time is up. */
async function produce(story: GenerationRun): Promise<'stored' | JobFailure> {
  const { deadlineMs, cancelAfterMs = deadlineMs } = story.input.timing;
  const production = new CancellationScope({ cancellable: true, timeout: deadlineMs });
  story.interruptible = production;
  const work = () => (cancelAfterMs < deadlineMs ? converseWithin(story, cancelAfterMs) : converse(story));
  try {
    return story.cancelRequested ? CANCELLED : await production.run(work);
  } catch (error) {
    if (!isCancellation(error)) return failed('provider_failed', 'The job could not be finished.');
    if (story.ended) return story.ended.ending;
    // An operator may cancel the workflow itself; then this scope, the root, is cancelled too.
    if (story.cancelRequested || CancellationScope.current().consideredCancelled) return CANCELLED;
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

/** Ends the job at the client's own limit, if the books allow it. */
async function converseWithin(story: GenerationRun, limitMs: number): Promise<'stored' | JobFailure> {
  const limit = new CancellationScope({ cancellable: true });
  limit
    .run(async () => {
      await sleep(limitMs);
      await endWithinBudget(story, CANCELLED_IN_TIME);
    })
    .catch(() => undefined);
  try {
    return await converse(story);
  } finally {
    limit.cancel();
  }
}

/**
 * The books decide before anything is interrupted. False: its provider cannot be stopped and the account was refunded enough
 * today, so the job goes on and its charge stands.
 */
async function endWithinBudget(story: GenerationRun, ending: JobFailure): Promise<boolean> {
  if (story.ended) return true;
  story.wish ??= askBooks(story, ending).finally(() => {
    delete story.wish;
  });
  return await story.wish;
}

async function askBooks(story: GenerationRun, ending: JobFailure): Promise<boolean> {
  const wish = { ...clientInputsOf(story.input), ...ending, isClients: true };
  const result = await CancellationScope.nonCancellable(() => story.steps.untilDone.endJob(wish));
  if (result.refused) {
    describeJob(story.input, story.result, 'not cancelled: its refund would exceed those of the day');
    return false;
  }
  story.ended = { ending, result };
  story.interruptible?.cancel();
  return true;
}

async function converse(story: GenerationRun): Promise<'stored' | JobFailure> {
  const { steps, input } = story;
  const { timing } = input;
  // It was measured before the charge, but a job that was not to be abandoned may have lost that.
  const measured = story.source ? ({ ok: true, source: story.source } as const) : await measure(story);
  if (!measured.ok) return failed(measured.code, measured.message);
  const { source } = measured;
  let outcome: GenerateResult = await steps.provider.generate({ job: input, source });
  let isLost = false;
  for (;;) {
    switch (outcome.kind) {
      case 'stored':
        return 'stored';
      case 'failed':
        return failed(outcome.code, outcome.message);
      case 'ended':
        return failed('provider_failed', 'The job was ended before its output was stored.');
      case 'running':
        outcome = await awaitOutcome(story, outcome.operation);
        break;
      case 'busy':
        await sleep(outcome.retryAfterMs);
        outcome = await steps.provider.generate({ job: input, source });
        break;
      case 'unknown':
        if (!outcome.askable && isLost) return LOST;
        isLost = !outcome.askable;
        // A provider that cannot be asked stays silent: only an earlier attempt that still runs can bring an output.
        await sleep(outcome.askable ? timing.pollLongestMs : timing.heartbeatMs + LOST_GRACE_MS);
        outcome = await steps.provider.generate({ job: input, source });
        break;
    }
  }
}

const LOST: JobFailure = failed(
  'provider_unknown',
  "The provider's reply was lost, and it cannot be asked what became of the job.",
);
/** After its heartbeat was missed, an attempt that is not dead has this long to store what it made. */
const LOST_GRACE_MS = 10_000;

/**
 * Asks until there is an outcome. A call of the provider ends the pause between two questions, but only a few times: each
 * costs the history some events, and who calls too often is asked at the usual times.
 */
async function awaitOutcome(story: GenerationRun, operation: OperationHandle): Promise<GenerateResult> {
  const ask = () => story.steps.polling.awaitOutcome({ job: story.input, operation });
  for (let calls = 0; calls < MAX_CALLS_HEARD; calls += 1) {
    const pause = new CancellationScope({ cancellable: true });
    story.calledBack = () => pause.cancel();
    try {
      return await pause.run(ask);
    } catch (error) {
      const calledBack = isCancellation(error) && !CancellationScope.current().consideredCancelled;
      if (!calledBack) throw error;
    }
  }
  delete story.calledBack;
  return await ask();
}

const MAX_CALLS_HEARD = 3;

/** Refunds and ends the job; the row decides when the output and the end raced each other. */
async function close(story: GenerationRun, ending: JobFailure): Promise<'stored' | 'closed'> {
  return await CancellationScope.nonCancellable(async () => {
    const wish = { ...clientInputsOf(story.input), ...ending };
    const ended = story.ended?.result ?? (await story.steps.untilDone.endJob(wish));
    if (ended.state === 'stored') return 'stored';
    story.result = {
      ...story.result,
      state: ended.state,
      ...(ended.refundId ? { refundId: ended.refundId } : {}),
      failure: ending.failure,
    };
    describeJob(story.input, story.result, ending.failure.message);
    tell(story);
    return 'closed';
  });
}

/** Keeps the output until the client is done with it or its retention ends, then deletes it. */
async function keep(story: GenerationRun): Promise<void> {
  const { input, steps } = story;
  story.result = { ...story.result, state: 'stored' };
  describeJob(input, story.result, 'next: delivery, then deletion');
  tell(story);
  let done = story.completeRequested;
  try {
    done = await condition(() => story.completeRequested, input.timing.retentionMs);
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  await CancellationScope.nonCancellable(async () => {
    const as = done ? 'deleted' : 'expired';
    await steps.untilDone.removeMedia({ queueId: input.queueId, as });
    story.mediaGone = true;
    story.result = { ...story.result, state: as };
    describeJob(input, story.result, 'the media is gone, the charge stands');
    tell(story);
  });
}

function tell({ input, result, told }: GenerationRun): void {
  const event = webhookEventOf(result.state);
  if (event && input.webhook?.events.includes(event)) told.push(notifyClient(input, event));
}

function listen(story: GenerationRun): void {
  setHandler(acceptedUpdate, () => answer(story));
  setHandler(cancelUpdate, () => cancel(story));
  setHandler(completeUpdate, (request) => complete(story, request));
  setHandler(calledBackSignal, () => story.calledBack?.());
}

async function answer(story: GenerationRun): Promise<AcceptResult> {
  story.asked = true;
  await condition(() => story.answer !== undefined);
  if (!story.answer) throw new Error('the answer was awaited and is missing');
  return story.answer;
}

async function cancel(story: GenerationRun): Promise<CancelResult> {
  if (story.decided) return { outcome: story.result.state === 'cancelled' ? 'cancelled' : 'too_late' };
  // Before it is charged there is nothing to refund.
  if (story.answer?.accepted) {
    if (!(await endWithinBudget(story, CANCELLED))) return { outcome: 'over_budget' };
  } else {
    story.cancelRequested = true;
    story.interruptible?.cancel();
  }
  await condition(() => story.decided);
  return { outcome: story.result.state === 'cancelled' ? 'cancelled' : 'too_late' };
}

async function complete(story: GenerationRun, request?: CompleteRequest): Promise<CompleteResult> {
  story.completeRequested = true;
  // Before there is an output there is nothing to remove; what arrives later is discarded at once. The row can be ahead of
  // this workflow: a client that was sent the output must not hear that it is gone while it is not.
  const stored = request?.stored || (story.decided && story.result.state === 'stored');
  if (!stored) return { outcome: 'deleted' };
  const gone = await condition(() => story.mediaGone, 5_000);
  return { outcome: gone ? 'deleted' : 'pending' };
}

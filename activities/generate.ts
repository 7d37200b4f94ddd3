/** Orders a generation: the order is recorded ahead, sent once, and every result is checked before it counts. */
import { type ApplicationFailure, Context } from '@temporalio/activity';
import type { ErrorCode } from '../domain/errors.ts';
import { failpoint } from '../infra/failpoints.ts';
import { recordEvents } from '../infra/postgres/jobEvents.ts';
import {
  closeSubmission,
  openSubmission,
  recordOperation,
  recordProgress,
  recordSuggestion,
} from '../infra/postgres/submissions.ts';
import type { GenerationProvider, OperationHandle, Outcome, RefusalReason } from '../providers/shared/provider.ts';
import { clientInputsOf, type GenerationInput } from '../workflows/contract.ts';
import { retryLater } from './asActivity.ts';
import { askProvider } from './askProvider.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { discardSource } from './endJob.ts';
import type { MeasuredOrder } from './jobTerms.ts';
import { requestOf } from './requestOf.ts';
import { storeOutput } from './storeOutput.ts';
import type { GenerateResult } from './types.ts';
import { type WorkFolder, withWorkFolder } from './withWorkFolder.ts';

export async function generate(dependencies: ActivityDependencies, order: MeasuredOrder): Promise<GenerateResult> {
  const { queueId, provider: name } = order.job;
  const provider = dependencies.providers.get(name);
  if (!provider) return { kind: 'failed', code: 'unavailable', message: 'The model is offline at the moment.' };
  const gate = await openSubmission(dependencies.pool, queueId, dependencies.providerSettings[name]?.limits ?? {});
  if (gate.go === 'stop') {
    await discardSource(dependencies, clientInputsOf(order.job));
    return { kind: gate.state === 'stored' ? 'stored' : 'ended' };
  }
  if (gate.go === 'wait') throw retryLater(WAITS[gate.waitsFor], gate.retryAfterMs);
  if (gate.go === 'poll') return { kind: 'running', operation: gate.operation };
  if (gate.go === 'ask' && !provider.repeatable) return await askAgain(dependencies, order, provider);
  return await withWorkFolder(dependencies, async (place) => {
    const request = await requestOf(dependencies, order, place);
    const { folder: workFolder, signal, heartbeat } = place;
    const callbackUrl = provider.isGenuine && (await dependencies.callbackUrl(order.job));
    const context = { workFolder, signal, heartbeat, ...(callbackUrl && { callbackUrl }) };
    const question = { job: order.job, call: 'start', signal } as const;
    const outcome = await askProvider(dependencies, question, () => provider.start(request, context));
    await failpoint('provider-submitted');
    return await concludeOutcome(dependencies, order.job, { outcome, provider, place });
  });
}

/**
 * An earlier attempt sent the order and its answer is lost: the provider is asked for the result, never ordered again.
 */
async function askAgain(
  dependencies: ActivityDependencies,
  order: MeasuredOrder,
  provider: GenerationProvider,
): Promise<GenerateResult> {
  const { find } = provider;
  if (!find) return { kind: 'unknown', askable: false };
  return await withWorkFolder(dependencies, async (place) => {
    const { folder: workFolder, signal, heartbeat } = place;
    const question = { job: order.job, call: 'find', signal } as const;
    const outcome = await askProvider(dependencies, question, () =>
      find.call(provider, order.job.queueId, { workFolder, signal, heartbeat }),
    );
    if (outcome === undefined) {
      await closeSubmission(dependencies.pool, order.job.queueId);
      return { kind: 'busy', retryAfterMs: order.job.timing.pollFirstMs };
    }
    return await concludeOutcome(dependencies, order.job, { outcome, provider, place });
  });
}

/** Polls a running generation. "Not yet" is a retry of this step, so that waiting adds nothing to the history. */
export async function awaitOutcome(
  dependencies: ActivityDependencies,
  job: GenerationInput,
  operation: OperationHandle,
): Promise<GenerateResult> {
  const provider = dependencies.providers.get(job.provider);
  const check = provider?.check;
  if (!provider || !check) return { kind: 'unknown', askable: false };
  return await withWorkFolder(dependencies, async (place) => {
    const { folder: workFolder, signal, heartbeat } = place;
    const outcome = await askProvider(dependencies, { job, call: 'check', signal }, () =>
      check.call(provider, operation, { workFolder, signal, heartbeat }),
    );
    await failpoint('polled');
    if (outcome.status === 'running' || outcome.status === 'busy' || outcome.status === 'unknown') {
      await noteProgress(dependencies, job, outcome);
      throw stillRunning(outcome);
    }
    return await concludeOutcome(dependencies, job, { outcome, provider, place });
  });
}

/** Writes only progress by a whole percent: most polls change nothing. */
async function noteProgress(
  { pool }: ActivityDependencies,
  { queueId }: GenerationInput,
  outcome: Outcome,
): Promise<void> {
  const percent = outcome.status === 'running' ? outcome.percent : undefined;
  if (percent !== undefined) await recordProgress(pool, queueId, Math.floor(Math.max(0, Math.min(99, percent))));
}

function stillRunning(outcome: Outcome): ApplicationFailure {
  const retryAfterMs = 'retryAfterMs' in outcome ? outcome.retryAfterMs : undefined;
  return retryLater({ type: 'StillRunning', message: 'The provider is still working.' }, retryAfterMs);
}

const WAITS = {
  place: { type: 'NoPlace', message: 'The provider has as many jobs as it may have; this one is in line.' },
  provider: { type: 'ProviderDown', message: 'The provider does not answer; it is tried again later.' },
  busy: { type: 'ProviderBusy', message: 'The provider has no room at the moment.' },
} as const;

/** Converts the answer of a provider to the result for the workflow, after recording what must not be lost. */
async function concludeOutcome(
  dependencies: ActivityDependencies,
  job: GenerationInput,
  answer: { outcome: Outcome; provider: GenerationProvider; place: WorkFolder },
): Promise<GenerateResult> {
  const { outcome, provider, place } = answer;
  const { pool, log } = dependencies;
  const detail = 'detail' in outcome ? outcome.detail : undefined;
  // A refused credential is the operator's to fix, and no other log line reports it.
  const level = outcome.status === 'refused' && outcome.reason === 'credential' ? 'error' : 'info';
  log[level]({ queueId: job.queueId, provider: job.provider, outcome: outcome.status, detail }, 'provider answered');
  switch (outcome.status) {
    case 'done':
      return await storeOutput(dependencies, job, { output: outcome.output, place });
    case 'running':
      await recordOperation(pool, job.queueId, outcome.operation);
      await recordEvents(pool, job.queueId, [{ event: 'acknowledged', detail: job.provider }]);
      await failpoint('provider-id-saved');
      return { kind: 'running', operation: outcome.operation };
    case 'refused':
      // The proposal quotes the client, whose words enter no history: the row has it for the answer.
      if (outcome.suggestedPrompt) await recordSuggestion(pool, job.queueId, outcome.suggestedPrompt);
      return { kind: 'failed', ...failureOf(outcome.reason, outcome.message) };
    case 'busy':
      await closeSubmission(pool, job.queueId);
      throw retryLater(WAITS.busy, Math.max(outcome.retryAfterMs ?? 0, pauseMs(job)));
    case 'unknown':
      return { kind: 'unknown', askable: provider.find !== undefined };
  }
}

/**
 * Minimum pause, whatever the provider asks for. It grows with every attempt, with jitter so that waiting jobs do not
 * return at once.
 */
function pauseMs(job: GenerationInput): number {
  const { pollFirstMs, pollLongestMs } = job.timing;
  const spread = Number.parseInt(job.queueId.slice(0, 4), 16) / 0xffff;
  return Math.min(pollLongestMs, pollFirstMs * (1 + spread) * Context.current().info.attempt);
}

const REFUSALS: Record<RefusalReason, ErrorCode> = {
  refused: 'invalid_request',
  content_policy: 'provider_refused',
  failed: 'provider_failed',
  credential: 'unavailable',
};

function failureOf(reason: RefusalReason, message: string): { code: ErrorCode; message: string } {
  // Errors between the provider and this service are for the operator: the log has them, the client reads this.
  const words = reason === 'credential' ? 'The model is not available at the moment.' : message;
  return { code: REFUSALS[reason], message: words };
}

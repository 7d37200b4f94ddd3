/** What every attempt of a step leaves behind for whoever watches: its time, its wait, its span. */
import { ApplicationFailure, type Context } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import { activitySeconds, activityWaitSeconds } from '../infra/telemetry/counters.ts';
import { inSpan, type SpanStart } from '../infra/telemetry/spans.ts';
import { traceOf } from '../infra/temporal/traceHeaders.ts';

type WatchResult = { outcome: 'done'; result: unknown } | { outcome: 'waiting'; error: unknown };

export function watchActivity({ info, cancellationSignal }: Context): ActivityInterceptors {
  return {
    inbound: {
      async execute(input, next) {
        const startedAt = performance.now();
        let outcome = 'failed';
        if (!info.isLocal) {
          const waitedMs = Math.max(0, Date.now() - info.currentAttemptScheduledTimestampMs);
          activityWaitSeconds.labels(info.taskQueue).observe(waitedMs / 1000);
        }
        try {
          const ended = await inSpan(spanOf(info, traceOf(input.headers)), async (note) => {
            const end = await waitingIsNoFailure(() => next(input));
            note({ 'farebox.outcome': end.outcome });
            return end;
          });
          outcome = ended.outcome;
          if (ended.outcome === 'waiting') throw ended.error;
          return ended.result;
        } catch (error) {
          if (cancellationSignal.aborted) outcome = 'cancelled';
          throw error;
        } finally {
          const seconds = (performance.now() - startedAt) / 1000;
          activitySeconds.labels(info.activityType, outcome).observe(seconds);
        }
      },
    },
  };
}

/** A step that is to be asked again later ends with an error by Temporal's rules, not by ours. */
async function waitingIsNoFailure(step: () => Promise<unknown>): Promise<WatchResult> {
  try {
    return { outcome: 'done', result: await step() };
  } catch (error) {
    const benign = ApplicationFailureCategory.BENIGN;
    if (error instanceof ApplicationFailure && error.category === benign) return { outcome: 'waiting', error };
    throw error;
  }
}

function spanOf(info: Context['info'], parent: string | undefined): SpanStart {
  const workflowId = info.workflowExecution?.workflowId;
  return {
    name: info.activityType,
    kind: 'consumer',
    parent,
    root: true,
    attributes: {
      'temporal.activity': info.activityType,
      'temporal.attempt': info.attempt,
      'temporal.task_queue': info.taskQueue,
      ...(workflowId === undefined ? {} : { 'temporal.workflow_id': workflowId }),
    },
  };
}

/** Span of a workflow, reported when it ends, so that it is reported once and not at every replay. */
import type { InjectedSinks } from '@temporalio/worker';
import { recordFinished } from '../infra/telemetry/spans.ts';
import { traceOf } from '../infra/temporal/traceHeaders.ts';
import type { TracingSinks } from '../workflows/tracing.ts';

export const tracingSinks: InjectedSinks<TracingSinks> = {
  tracing: {
    workflowEnded: {
      fn(info, headers, failed) {
        recordFinished({
          name: `workflow ${info.workflowType}`,
          kind: 'consumer',
          parent: traceOf(headers),
          attributes: { 'temporal.workflow': info.workflowType, 'temporal.workflow_id': info.workflowId },
          startedAt: info.startTime.getTime(),
          endedAt: Date.now(),
          failed,
        });
      },
      callDuringReplay: false,
    },
  },
};

/**
 * Passes the trace of the starting request to the steps of a workflow, and reports its end to the worker. It adds no
 * command: a history with the header replays like one without.
 */
import type { Headers } from '@temporalio/common';
import { proxySinks, type Sinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { TRACE_HEADER } from '../domain/traceHeader.ts';

export interface TracingSinks extends Sinks {
  tracing: { workflowEnded(headers: Headers, failed: boolean): void };
}

const { tracing } = proxySinks<TracingSinks>();

/** Name by which the bundle finds it. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let trace: Headers = {};
  return {
    inbound: [
      {
        async execute(input, next) {
          const header = input.headers[TRACE_HEADER];
          if (!header) return await next(input);
          trace = { [TRACE_HEADER]: header };
          let failed = true;
          try {
            const result = await next(input);
            failed = false;
            return result;
          } finally {
            tracing.workflowEnded(trace, failed);
          }
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next({ ...input, headers: { ...input.headers, ...trace } }),
        scheduleLocalActivity: (input, next) => next({ ...input, headers: { ...input.headers, ...trace } }),
      },
    ],
  };
};

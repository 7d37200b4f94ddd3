/** Writes the trace of a request into headers of the workflows that it starts, and reads it. */
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import { TRACE_HEADER } from '../../domain/traceHeader.ts';
import { inSpan, traceparent } from '../telemetry/spans.ts';

/** Every call that waits for a workflow is a span, and a started workflow gets its parent span. */
export const traceCalls: WorkflowClientInterceptor = {
  startUpdateWithStart: (input, next) =>
    inSpan(
      {
        name: `start ${input.workflowType}`,
        kind: 'client',
        attributes: {
          'temporal.workflow': input.workflowType,
          'temporal.workflow_id': input.workflowStartOptions.workflowId,
        },
      },
      () => next({ ...input, workflowStartHeaders: withTrace(input.workflowStartHeaders) }),
    ),
  startUpdate: (input, next) =>
    inSpan(
      {
        name: `update ${input.updateName}`,
        kind: 'client',
        attributes: { 'temporal.workflow_id': input.workflowExecution.workflowId ?? '' },
      },
      () => next(input),
    ),
};

function withTrace(headers: Headers): Headers {
  const parent = traceparent();
  if (parent === undefined) return headers;
  return { ...headers, [TRACE_HEADER]: defaultPayloadConverter.toPayload({ traceparent: parent }) };
}

/** Header written by `traceCalls`, or by another program with the same convention; undefined without one. */
export function traceOf(headers: Headers): string | undefined {
  const payload = headers[TRACE_HEADER];
  if (!payload) return undefined;
  try {
    const carried = defaultPayloadConverter.fromPayload<{ traceparent?: unknown } | null>(payload);
    return typeof carried?.traceparent === 'string' ? carried.traceparent : undefined;
  } catch {
    return undefined;
  }
}

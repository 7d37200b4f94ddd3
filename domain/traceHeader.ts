/**
 * Header that carries the ordering request's trace to a job's workflow and steps: `{ traceparent }`, under the name
 * that Temporal's own interceptors use.
 */
export const TRACE_HEADER = '_tracer-data';

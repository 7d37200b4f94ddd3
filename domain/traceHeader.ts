/**
 * The header by which a job's workflow and steps know the trace of the request that ordered it: `{ traceparent }`, under
 * the name that Temporal's own interceptors use.
 */
export const TRACE_HEADER = '_tracer-data';

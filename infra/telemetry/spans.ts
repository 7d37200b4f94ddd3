/**
 * The steps of one request or job, as spans of one trace. While nothing records (no collector is configured) a step costs
 * one look at a variable, and no tracing library is loaded. What a span may carry is listed here: prompts, keys, queries
 * of URLs and the words of errors have no name, so they cannot get in by accident.
 */

export type SpanAttributes = Partial<
  Record<
    | 'http.request.method'
    | 'http.route'
    | 'http.response.status_code'
    | 'server.address'
    | 'db.system.name'
    | 'db.operation.name'
    | 'error.type'
    | 'farebox.limit'
    | 'farebox.model'
    | 'farebox.outcome'
    | 'farebox.provider'
    | 'farebox.queue_id'
    | 'temporal.activity'
    | 'temporal.attempt'
    | 'temporal.task_queue'
    | 'temporal.workflow'
    | 'temporal.workflow_id',
    string | number
  >
>;

export interface SpanStart {
  name: string;
  /** `server` and `consumer` begin our part of the work, `client` waits for somebody else. */
  kind: 'server' | 'client' | 'consumer' | 'internal';
  attributes?: SpanAttributes;
  /** W3C `traceparent` of the span below which it belongs; the one that is under way when left out. */
  parent?: string | undefined;
  /** Begins a trace of its own when there is no parent; without it, a step of nothing is not recorded. */
  root?: boolean;
}

/** Adds to the span that is under way what is known only later. */
export type Note = (attributes: SpanAttributes) => void;

export interface RequestSpan {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** `failed`: the mistake is ours. */
  end(route: string, attributes: SpanAttributes, failed: boolean): void;
}

export interface FinishedSpan extends SpanStart {
  startedAt: number;
  endedAt: number;
  failed: boolean;
}

/** What a tracing library does for us; loaded only when traces are wanted. */
export interface Recorder {
  step<T>(start: SpanStart, work: (note: Note) => Promise<T>): Promise<T>;
  request(traceId: string, attributes: SpanAttributes): RequestSpan;
  finished(span: FinishedSpan): void;
  traceparent(): string | undefined;
}

let recorder: Recorder | undefined;

/** `undefined` ends it. */
export function recordWith(next: Recorder | undefined): void {
  recorder = next;
}

const NOTHING: Note = () => undefined;

/** Runs a step as a span below the one that is under way; an error that it throws marks it as failed. */
export function inSpan<T>(start: SpanStart, work: (note: Note) => Promise<T>): Promise<T> {
  return recorder === undefined ? work(NOTHING) : recorder.step(start, work);
}

/** The root of a trace whose id is the request's; undefined while nothing records. */
export function requestSpan(traceId: string, attributes: SpanAttributes): RequestSpan | undefined {
  return recorder?.request(traceId, attributes);
}

/** A step whose beginning and end were noted elsewhere. */
export function recordFinished(span: FinishedSpan): void {
  recorder?.finished(span);
}

/** W3C `traceparent` of the span that is under way, to hand on to whoever continues the work. */
export function traceparent(): string | undefined {
  return recorder?.traceparent();
}

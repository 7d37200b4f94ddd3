/**
 * The steps of one request or job, as spans of one trace. Without a configured collector a step costs one check of a
 * variable, and no tracing library is loaded. All attributes of spans are listed here. Prompts, keys, URL queries and
 * error messages have none, so they cannot get in by accident.
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
    | GenerativeAttribute
    | 'temporal.activity'
    | 'temporal.attempt'
    | 'temporal.task_queue'
    | 'temporal.workflow'
    | 'temporal.workflow_id',
    string | number
  >
> & { 'gen_ai.response.finish_reasons'?: string[] };

/** Names of OpenTelemetry's semantic conventions for generative AI; none of them holds a text. */
type GenerativeAttribute =
  | 'gen_ai.operation.name'
  | 'gen_ai.provider.name'
  | 'gen_ai.output.type'
  | 'gen_ai.embeddings.dimension.count'
  | `gen_ai.request.${'model' | 'max_tokens' | 'choice.count' | 'temperature' | 'top_p' | 'top_k' | 'seed'}`
  | `gen_ai.request.${'frequency_penalty' | 'presence_penalty'}`
  | `gen_ai.response.${'id' | 'model'}`
  | `gen_ai.usage.${'input_tokens' | 'output_tokens' | 'cache_read.input_tokens' | 'cache_creation.input_tokens'}`;

export interface SpanStart {
  name: string;
  /** `server` and `consumer` begin a part of our work, `client` waits for another service. */
  kind: 'server' | 'client' | 'consumer' | 'internal';
  attributes?: SpanAttributes;
  /** W3C `traceparent` of the parent span; default: the current span. */
  parent?: string | undefined;
  /** Without a parent, begins a trace. When false, a step without a parent is not recorded. */
  root?: boolean;
}

/** Adds attributes that are known only after the start to the current span. */
export type Note = (attributes: SpanAttributes) => void;

export interface RequestSpan {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** `failed`: the fault is ours. */
  end(route: string, attributes: SpanAttributes, failed: boolean): void;
}

export interface FinishedSpan extends SpanStart {
  startedAt: number;
  endedAt: number;
  failed: boolean;
}

/** Interface to a tracing library, which is loaded only when a collector is configured. */
export interface Recorder {
  step<T>(start: SpanStart, work: (note: Note) => Promise<T>): Promise<T>;
  request(traceId: string, attributes: SpanAttributes): RequestSpan;
  finished(span: FinishedSpan): void;
  traceparent(): string | undefined;
}

let recorder: Recorder | undefined;

/** `undefined` stops the recording. */
export function recordWith(next: Recorder | undefined): void {
  recorder = next;
}

/** Whether a collector is configured: without one nothing needs to be gathered for a span. */
export function isRecording(): boolean {
  return recorder !== undefined;
}

const NOTHING: Note = () => undefined;

/** Runs a step as a child span of the current span; an error that it throws marks the span as failed. */
export function inSpan<T>(start: SpanStart, work: (note: Note) => Promise<T>): Promise<T> {
  return recorder === undefined ? work(NOTHING) : recorder.step(start, work);
}

/** Root span of a trace whose id is the request's; undefined without a recorder. */
export function requestSpan(traceId: string, attributes: SpanAttributes): RequestSpan | undefined {
  return recorder?.request(traceId, attributes);
}

/** Records a step whose start and end were measured elsewhere. */
export function recordFinished(span: FinishedSpan): void {
  recorder?.finished(span);
}

/** W3C `traceparent` of the current span, for a process that continues the work. */
export function traceparent(): string | undefined {
  return recorder?.traceparent();
}

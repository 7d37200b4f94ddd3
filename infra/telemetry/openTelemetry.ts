/**
 * OpenTelemetry spans, sent in batches by OTLP over HTTP. Loaded only when a collector is configured. The queue for the
 * collector is limited in number and time; further spans are dropped.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { FareboxError } from '../../domain/errors.ts';
import { traceExports } from './counters.ts';
import type { FinishedSpan, Note, Recorder, RequestSpan, SpanAttributes, SpanStart } from './spans.ts';

export interface TracingOptions {
  /** URL of the collector; `/v1/traces` is appended. */
  endpoint: string;
  /** Name of the process: `api`, `worker`. */
  service: string;
  buildId: string;
  /** Called when the collector begins to refuse spans, not for each loss. */
  onLost(error: unknown): void;
}

export interface OpenTelemetry {
  recorder: Recorder;
  /** Sends the waiting spans; the caller limits the wait. */
  close(): Promise<void>;
}

const QUEUE_SPANS = 4_096;
const BATCH_SPANS = 512;
const BATCH_EVERY_MS = 1_000;
const EXPORT_LIMIT_MS = 3_000;

export function openTelemetry(options: TracingOptions): OpenTelemetry {
  const ids = requestedIds();
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = counted(new OTLPTraceExporter({ url, timeoutMillis: EXPORT_LIMIT_MS }), options.onLost);
  const provider = new TracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({
      'service.name': `farebox-${options.service}`,
      'service.version': options.buildId,
    }),
    spanLimits: { attributeCountLimit: 32, attributeValueLengthLimit: 256 },
    spanProcessors: [
      countEnded,
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: QUEUE_SPANS,
        maxExportBatchSize: BATCH_SPANS,
        scheduledDelayMillis: BATCH_EVERY_MS,
        exportTimeoutMillis: EXPORT_LIMIT_MS + 1_000,
      }),
    ],
  });
  return { recorder: createRecorder(provider, ids), close: () => provider.shutdown() };
}

/** Random ids, except that the id of a request is the id of its trace. */
function requestedIds() {
  const random = new RandomIdGenerator();
  return {
    nextTraceId: undefined as string | undefined,
    generateTraceId(): string {
      const wanted = this.nextTraceId ?? random.generateTraceId();
      this.nextTraceId = undefined;
      return wanted;
    },
    generateSpanId: () => random.generateSpanId(),
  };
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

function createRecorder(provider: TracerProvider, ids: ReturnType<typeof requestedIds>): Recorder {
  const tracer = provider.getTracer('farebox');
  const current = new AsyncLocalStorage<Span>();

  /** Undefined: there is no span that it could belong to. */
  function parentOf({ parent, root }: SpanStart): Context | undefined {
    const remote = parent === undefined ? undefined : parseTraceparent(parent);
    if (remote) return trace.setSpanContext(ROOT_CONTEXT, remote);
    const span = current.getStore();
    if (span) return trace.setSpan(ROOT_CONTEXT, span);
    return root ? ROOT_CONTEXT : undefined;
  }

  return {
    async step<T>(start: SpanStart, work: (note: Note) => Promise<T>): Promise<T> {
      const parent = parentOf(start);
      if (!parent) return await work(() => undefined);
      const span = tracer.startSpan(start.name, settingsOf(start), parent);
      try {
        return await current.run(span, () => work((attributes) => span.setAttributes(attributes)));
      } catch (error) {
        fail(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    request(traceId: string, attributes: SpanAttributes): RequestSpan {
      ids.nextTraceId = traceId;
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER, attributes }, ROOT_CONTEXT);
      return {
        run: (work) => current.run(span, work),
        end(route, more, failed) {
          span.updateName(`${attributes['http.request.method']} ${route}`);
          span.setAttributes({ 'http.route': route, ...more });
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    finished(done: FinishedSpan): void {
      const parent = parentOf(done);
      if (!parent) return;
      const span = tracer.startSpan(done.name, { ...settingsOf(done), startTime: done.startedAt }, parent);
      if (done.failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(done.endedAt);
    },
    traceparent(): string | undefined {
      const span = current.getStore();
      return span && formatTraceparent(span.spanContext());
    },
  };
}

function settingsOf({ kind, attributes }: SpanStart) {
  return { kind: KINDS[kind], ...(attributes && { attributes }) };
}

/** Records the error's code or class only: its message may contain anything. */
function fail(span: Span, error: unknown): void {
  const type = error instanceof FareboxError ? error.code : error instanceof Error ? error.name : typeof error;
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = '0'] = TRACEPARENT.exec(text) ?? [];
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}

function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

const countEnded: SpanProcessor = {
  onStart: () => undefined,
  onEnd: () => traceExports.labels('ended').inc(),
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};

/** Counts sent and lost spans. */
function counted(exporter: OTLPTraceExporter, onLost: (error: unknown) => void): SpanExporter {
  let losing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const lost = result.error !== undefined || result.code !== 0;
        traceExports.labels(lost ? 'lost' : 'sent').inc(spans.length);
        if (lost && !losing) onLost(result.error);
        losing = lost;
        // A loss is reported above, once; reported here, it would enter the library's own log.
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

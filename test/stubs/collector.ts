/** Local OpenTelemetry collector: receives spans by OTLP over HTTP (protobuf) and stores them as sent. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

export interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  /** Empty at the root. */
  parentSpanId: string;
  kind: string;
  attributes: Record<string, AttributeValue>;
  failed: boolean;
  startedAtMs: number;
  endedAtMs: number;
}

type AttributeValue = string | number | (string | number)[];

export interface Collector {
  endpoint: string;
  spans: CollectedSpan[];
  /** Received bodies. */
  bodies: Buffer[];
  close(): Promise<void>;
}

/** The part of opentelemetry-proto (trace/v1/trace.proto, v1.5) that our processes send. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  enum Kind { UNSPECIFIED = 0; INTERNAL = 1; SERVER = 2; CLIENT = 3; PRODUCER = 4; CONSUMER = 5; }
  message Status { string message = 2; int32 code = 3; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; Kind kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; Status status = 15;
  }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value {
      string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
      ArrayValue array_value = 5;
    }
  }
  message ArrayValue { repeated AnyValue values = 1; }`);
const REQUEST = root.lookupType('Request');

interface SentValue extends Record<string, unknown> {
  arrayValue?: { values?: SentValue[] };
}

interface Attribute {
  key: string;
  value: SentValue;
}

interface Sent {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: SentSpan[] }[];
  }[];
}

interface SentSpan {
  traceId: Uint8Array;
  spanId: Uint8Array;
  parentSpanId?: Uint8Array;
  name: string;
  kind: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: Attribute[];
  status?: { code?: number };
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bodies: Buffer[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const isOurs = request.method === 'POST' && request.url === '/v1/traces';
    if (!isOurs || request.headers['content-type'] !== 'application/x-protobuf') {
      response.writeHead(415).end();
      return;
    }
    bodies.push(body);
    spans.push(...read(body));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function read(body: Buffer): CollectedSpan[] {
  const sent = REQUEST.toObject(REQUEST.decode(body), { longs: String, enums: String }) as Sent;
  return sent.resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => describe(span, service)));
  });
}

function describe(span: SentSpan, service: string): CollectedSpan {
  return {
    service,
    name: span.name,
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    kind: span.kind,
    attributes: valuesOf(span.attributes),
    failed: span.status?.code === 2,
    startedAtMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
    endedAtMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
  };
}

function hex(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : Buffer.from(bytes).toString('hex');
}

function valuesOf(attributes: Attribute[] = []): Record<string, AttributeValue> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, attributeOf(value)]));
}

function attributeOf(value: SentValue): AttributeValue {
  return value.arrayValue ? (value.arrayValue.values ?? []).map(scalarOf) : scalarOf(value);
}

function scalarOf(value: SentValue): string | number {
  const [found = ''] = Object.values(value) as (string | number)[];
  return 'intValue' in value ? Number(found) : found;
}

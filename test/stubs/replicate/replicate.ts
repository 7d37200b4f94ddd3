/**
 * Stand-in for Replicate's HTTP API, built from its OpenAPI description (api.replicate.com/openapi.json: predictions,
 * models.predictions.create, files, webhooks.default.secret.get, the headers Prefer and Cancel-After), its pages "Rate
 * limits", "Verify webhooks" and "Set deadlines for predictions", and error bodies quoted in threads of
 * replicate/replicate-javascript. Tests first use it with the service's own SDK, so that it does not mirror our
 * adapter.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStubFiles, type StubFile } from './files.ts';
import { type InvalidField, invalidInputs, MODELS, OWN_MODEL, OWN_VERSION } from './models.ts';
import { WEBHOOK_SECRET } from './webhooks.ts';

/** State of a prediction at one moment. Missing members keep their initial values. */
export interface Moment {
  status: string;
  output?: unknown;
  error?: string;
  logs?: string;
  data_removed?: boolean;
  /** Null before `predict()` is called. Undefined derives it from the status. */
  started_at?: string | null;
}

interface StubPrediction extends Moment {
  id: string;
  model: string;
  version: string;
  input: Record<string, unknown>;
  webhook?: string;
  webhook_events_filter?: string[];
  /** Seconds of `Cancel-After`. */
  cancelAfterSeconds?: number;
}

export type StubFault =
  /** Closes the connection after it has read the request. */
  | { kind: 'lost' }
  /** Never responds. */
  | { kind: 'hang' }
  | { kind: 'reply'; status: number; headers?: Record<string, string>; body: unknown };

export interface ReplicateStub {
  baseUrl: string;
  /** Host of outputs, separate like replicate.delivery. */
  deliveryUrl: string;
  apiKey: string;
  predictions: StubPrediction[];
  files: StubFile[];
  /** Moments of the next prediction: one for its creation, one per status request. The last stays. */
  moments: Moment[];
  /** Faults of the next requests whose method and path start with `at`, one each. */
  faults: { at: string; fault: StubFault }[];
  /** Outputs by path of the delivery host. */
  outputs: Map<string, { contentType: string; body: Buffer; announcedBytes?: number; cut?: boolean }>;
  /** Method and path of every request. */
  requests: string[];
  /** Authorization headers that the delivery host received. */
  deliveryCredentials: (string | undefined)[];
  /** Number of the next requests to throttle. */
  throttled: number;
  insufficientCredit: boolean;
  webhookSecret: string;
  close(): Promise<void>;
}

interface Context extends ReplicateStub {
  scripts: Map<string, Moment[]>;
}

export async function startReplicateStub(): Promise<ReplicateStub> {
  const stub: Context = {
    baseUrl: '',
    deliveryUrl: '',
    apiKey: 'r8_stub',
    predictions: [],
    files: [],
    moments: [{ status: 'starting' }],
    faults: [],
    outputs: new Map(),
    requests: [],
    deliveryCredentials: [],
    throttled: 0,
    insufficientCredit: false,
    webhookSecret: WEBHOOK_SECRET,
    scripts: new Map(),
    close: async () => undefined,
  };
  const api = await listen((request, response) => {
    route(stub, request, response).catch(() => response.destroy());
  });
  const delivery = await listen((request, response) => deliver(stub, request, response));
  stub.baseUrl = api.url;
  stub.deliveryUrl = delivery.url;
  stub.close = async () => {
    await Promise.all([api.close(), delivery.close()]);
  };
  return stub;
}

async function listen(listener: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function deliver(stub: Context, request: IncomingMessage, response: ServerResponse): void {
  stub.deliveryCredentials.push(request.headers.authorization);
  const found = stub.outputs.get(request.url ?? '');
  if (!found) return void response.writeHead(404).end();
  const { contentType, body, announcedBytes = body.length } = found;
  response.writeHead(200, { 'content-type': contentType, 'content-length': announcedBytes }).write(body);
  if (announcedBytes === body.length) response.end();
  else if (found.cut) setTimeout(() => response.destroy(), 20);
}

async function route(stub: Context, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://stub');
  const what = `${request.method} ${pathname}`;
  stub.requests.push(what);
  const body = await readBody(request);
  const planned = stub.faults.findIndex(({ at }) => what.startsWith(at));
  const fault = planned < 0 ? undefined : stub.faults.splice(planned, 1)[0]?.fault;
  if (fault?.kind === 'reply') return reply(response, fault);
  if (request.headers.authorization !== `Bearer ${stub.apiKey}`) {
    return problem(response, 401, 'Unauthenticated', 'You did not pass a valid authentication token');
  }
  if (stub.throttled > 0) return throttle(stub, response);
  const quiet = fault === undefined ? response : undefined;
  await operate(stub, { what, headers: request.headers, body }, quiet ?? unheard());
  if (fault?.kind === 'lost') response.destroy();
}

/** Discards a response. */
function unheard(): ServerResponse {
  return { writeHead: () => ({ end: () => undefined }) } as unknown as ServerResponse;
}

function throttle(stub: Context, response: ServerResponse): void {
  stub.throttled -= 1;
  const detail = 'Request was throttled. Your rate limit resets in ~30s.';
  reply(response, { status: 429, body: { detail, status: 429 } });
}

interface Call {
  what: string;
  headers: IncomingMessage['headers'];
  body: Buffer<ArrayBuffer>;
}

async function operate(stub: Context, call: Call, response: ServerResponse): Promise<void> {
  const { what } = call;
  const files = createStubFiles(stub);
  if (what === 'POST /v1/predictions') return await create(stub, call, response);
  const model = /^POST \/v1\/models\/([^/]+\/[^/]+)\/predictions$/.exec(what)?.[1];
  if (model !== undefined) return await create(stub, { ...call, model }, response);
  if (what === 'GET /v1/predictions') {
    const results = [...stub.predictions].reverse().map((each) => shown(stub, each));
    return reply(response, { status: 200, body: { next: null, previous: null, results } });
  }
  if (what === 'GET /v1/webhooks/default/secret') {
    return reply(response, { status: 200, body: { key: stub.webhookSecret } });
  }
  const [, id, cancelled] = /^(?:GET|POST) \/v1\/predictions\/([^/]+)(\/cancel)?$/.exec(what) ?? [];
  if (id !== undefined) return one(stub, { id, cancelled: cancelled !== undefined }, response);
  if (what.includes(' /v1/files')) return reply(response, await files.operate(call));
  problem(response, 404, 'Not found', 'The requested resource could not be found.');
}

function one(stub: Context, { id, cancelled }: { id: string; cancelled: boolean }, response: ServerResponse): void {
  const found = stub.predictions.find((each) => each.id === id);
  if (!found) {
    problem(response, 404, 'Not found', 'The requested resource could not be found.');
    return;
  }
  const script = stub.scripts.get(id) ?? [];
  const over = /^(succeeded|failed|canceled|aborted)$/.test(found.status);
  if (cancelled && !over) {
    const { started_at } = shown(stub, found);
    script.splice(0, script.length, { status: 'canceled', started_at: started_at as string | null });
  }
  Object.assign(found, script.shift());
  reply(response, { status: 200, body: shown(stub, found) });
}

const BODY_FIELDS = new Set(['version', 'input', 'stream', 'webhook', 'webhook_events_filter']);
const EVENTS = new Set(['start', 'output', 'logs', 'completed']);

async function create(stub: Context, call: Call & { model?: string }, response: ServerResponse): Promise<void> {
  const body = JSON.parse(call.body.toString('utf8')) as Record<string, unknown>;
  const model = call.model ?? (body.version === OWN_VERSION ? OWN_MODEL : undefined);
  if (model === undefined) {
    const words = "The specified version does not exist (or perhaps you don't have permission to use it?)";
    return problem(response, 422, 'Invalid version or not permitted', words);
  }
  if (!Object.hasOwn(MODELS, model) && call.model !== undefined) {
    return problem(response, 404, 'Not found', 'The requested resource could not be found.');
  }
  if (stub.insufficientCredit) {
    return problem(response, 402, 'Insufficient credit', 'You have insufficient credit to run this model.');
  }
  const cancelAfterSeconds = secondsOf(call.headers['cancel-after']);
  const invalid = invalidBody(model, body);
  if (cancelAfterSeconds !== undefined && !(cancelAfterSeconds >= 5)) {
    invalid.push({ type: 'invalid', field: 'cancel-after', description: 'must be at least 5 seconds' });
  }
  if (invalid.length > 0) return refuse(response, invalid);
  const made = record(stub, { model, body, cancelAfterSeconds });
  await finishInTime(stub, made, String(call.headers.prefer ?? ''));
  reply(response, { status: 201, body: shown(stub, made) });
}

function invalidBody(model: string, body: Record<string, unknown>): InvalidField[] {
  const { input, webhook, webhook_events_filter: events } = body;
  const unknown = Object.keys(body).filter((name) => !BODY_FIELDS.has(name));
  const invalid: InvalidField[] = unknown.map((name) => {
    const description = `Additional property ${name} is not allowed`;
    return { type: 'additional_property_not_allowed', field: '', description };
  });
  if (webhook !== undefined && !(typeof webhook === 'string' && webhook.startsWith('https://'))) {
    invalid.push({ type: 'invalid', field: 'webhook', description: 'must be an HTTPS URL' });
  }
  if (events !== undefined && !(Array.isArray(events) && events.every((each) => EVENTS.has(each)))) {
    invalid.push({ type: 'enum', field: 'webhook_events_filter', description: 'must be known events' });
  }
  if (typeof input !== 'object' || input === null) {
    return [...invalid, { type: 'required', field: '', description: 'input is required' }];
  }
  return [...invalid, ...invalidInputs(model, input as Record<string, unknown>)];
}

function record(
  stub: Context,
  made: { model: string; body: Record<string, unknown>; cancelAfterSeconds: number | undefined },
): StubPrediction {
  const [first = { status: 'starting' }, ...rest] = stub.moments;
  const { version, input, webhook, webhook_events_filter } = made.body;
  const prediction: StubPrediction = {
    id: `p${String(stub.predictions.length + 1).padStart(25, '0')}`,
    model: made.model,
    version: typeof version === 'string' ? version : 'hidden',
    input: input as Record<string, unknown>,
    ...(typeof webhook === 'string' && { webhook }),
    ...(Array.isArray(webhook_events_filter) && { webhook_events_filter }),
    ...(made.cancelAfterSeconds !== undefined && { cancelAfterSeconds: made.cancelAfterSeconds }),
    ...first,
  };
  stub.predictions.push(prediction);
  stub.scripts.set(prediction.id, rest);
  return prediction;
}

/** Sync mode: the response waits for the end, at most as long as requested. */
async function finishInTime(stub: Context, made: StubPrediction, prefer: string): Promise<void> {
  if (!/^wait(=([1-9]|[1-5]\d|60))?$/.test(prefer)) return;
  await sleep(5);
  for (const moment of stub.scripts.get(made.id)?.splice(0) ?? []) Object.assign(made, moment);
}

/** Parses `1h30m45s` or seconds. NaN for anything else. */
function secondsOf(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const text = String(header);
  if (/^\d+$/.test(text)) return Number(text);
  const [, hours, minutes, seconds] = /^(?=.)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  const known = hours ?? minutes ?? seconds;
  if (known === undefined) return Number.NaN;
  return Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
}

const NOT_STARTED = new Set(['starting', 'aborted']);

function shown(stub: Context, prediction: StubPrediction): Record<string, unknown> {
  const { id, cancelAfterSeconds, webhook_events_filter, ...rest } = prediction;
  const address = `${stub.baseUrl}/v1/predictions/${id}`;
  const web = `https://replicate.com/p/${id}`;
  return {
    id,
    output: null,
    error: null,
    logs: '',
    data_removed: false,
    source: 'api',
    created_at: '2025-11-20T10:00:00.000Z',
    started_at: NOT_STARTED.has(rest.status) ? null : '2025-11-20T10:00:01.000Z',
    ...rest,
    urls: { web, get: address, cancel: `${address}/cancel` },
  };
}

function refuse(response: ServerResponse, invalid: InvalidField[]): void {
  const detail = invalid.map(({ field, description }) => `- ${field}: ${description}\n`).join('');
  const body = { detail, status: 422, title: 'Input validation failed', invalid_fields: invalid };
  reply(response, { status: 422, body });
}

function problem(response: ServerResponse, status: number, title: string, detail: string): void {
  reply(response, { status, body: { title, detail, status } });
}

function reply(
  response: ServerResponse,
  { status, headers, body }: { status: number; headers?: Record<string, string>; body: unknown },
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  // 204 allows no body.
  response.writeHead(status, { 'content-type': type, ...headers }).end(status === 204 ? undefined : text);
}

async function readBody(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

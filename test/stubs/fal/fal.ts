/**
 * Stand-in for all hosts of fal: the queue (submit, status, result, cancel), the storage (uploads whole and in parts,
 * files) and the published keys. Built from the OpenAPI description of its queue
 * (fal.ai/docs/api-reference/inference-api/openapi/queue.json), its documentation on the queue, webhooks, data
 * retention and errors, and its own client (fal-ai/fal-js, libs/client/src/{queue,storage,response}.ts), with which
 * tests use it first. `faults` sets faults of the next calls by stage.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Callback } from '../../../providers/shared/provider.ts';
import { STUB_AUDIO, STUB_VIDEO } from '../smallMedia.ts';
import { type FalFault, type FalStage, strike } from './faults.ts';
import { mediaResult, outputFile } from './media.ts';
import { errorsOf, STUB_MODELS } from './rules.ts';
import { createStubStorage, type StubStorage } from './storage.ts';
import { newSigningKey, type SigningKey, signedCall, toJwk } from './webhooks.ts';

/** One step of an order: the answer to its next status request. */
export interface OrderStep {
  status: string;
  logs?: string[];
  requestId?: string;
  queuePosition?: number;
}

export interface StubOrder {
  requestId: string;
  model: string;
  input: Record<string, unknown>;
  headers: IncomingMessage['headers'];
  webhook: string | undefined;
  cancelled: boolean;
  steps: OrderStep[];
  /** Replaces the model's output. */
  result: { status: number; body: unknown } | undefined;
}

export interface FalStub {
  baseUrl: string;
  apiKey: string;
  orders: StubOrder[];
  faults: { [Stage in FalStage]?: FalFault[] };
  /** Steps of the next orders before completion. Default: none. */
  steps: OrderStep[];
  /** Result of the next orders. Default: an output of the model. */
  result: StubOrder['result'];
  /** Bytes of the outputs. Default: small and whole ones. */
  output: Buffer | undefined;
  outputType: string | undefined;
  /** Refuses orders because the account has no credit. */
  locked: boolean;
  signingKeys: SigningKey[];
  /** Requests for the published keys. */
  keyRequests: number;
  storage: StubStorage;
  /** Calls with their credentials. */
  calls: { method: string; path: string; authorization: string | undefined }[];
  /** The webhook call at the end of this order. */
  callOf(order: StubOrder, change?: { timestamp?: number; key?: SigningKey }): Callback;
  close(): Promise<void>;
}

export async function startFalStub(): Promise<FalStub> {
  const stub: FalStub = {
    baseUrl: '',
    apiKey: 'stub-id:stub-secret',
    orders: [],
    faults: {},
    steps: [],
    result: undefined,
    output: undefined,
    outputType: undefined,
    locked: false,
    signingKeys: [newSigningKey('first')],
    keyRequests: 0,
    storage: createStubStorage(),
    calls: [],
    callOf: (order, { timestamp, key = stub.signingKeys[0] } = {}) => {
      if (key === undefined) throw new Error('no key');
      const body = webhookBody(stub, order);
      return signedCall({ requestId: order.requestId, body, ...(timestamp !== undefined && { timestamp }) }, key);
    },
    close: async () => undefined,
  };
  const server = createServer((request, response) => {
    route(stub, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  stub.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stub.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return stub;
}

interface Exchange {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: Buffer;
  response: ServerResponse;
}

async function route(stub: FalStub, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const method = request.method ?? 'GET';
  const url = new URL(request.url ?? '/', stub.baseUrl);
  const exchange = { method, url, headers: request.headers, body: Buffer.concat(chunks), response };
  stub.calls.push({ method, path: url.pathname, authorization: request.headers.authorization });
  const { pathname: path } = url;
  if (path === '/.well-known/jwks.json') return publishKeys(stub, exchange);
  if (path.startsWith('/put/') || path.startsWith('/stored/') || path.startsWith('/storage/')) {
    return store(stub, exchange);
  }
  if (path.startsWith('/outputs/')) return sendOutput(stub, exchange);
  if (request.headers.authorization !== `Key ${stub.apiKey}`) {
    return send(response, 401, { detail: 'Authentication is required to access this application.' });
  }
  const order = /^\/(.+)\/requests\/([^/]+)(\/status|\/cancel)?$/.exec(path);
  if (order) return await ask(stub, exchange, { app: order[1] ?? '', id: order[2] ?? '', what: order[3] ?? '' });
  if (method === 'POST') return submit(stub, exchange);
  send(response, 404, { detail: 'Not Found' });
}

function publishKeys(stub: FalStub, { response }: Exchange) {
  stub.keyRequests += 1;
  const fault = stub.faults.keys?.shift();
  if (fault) return strike(response, fault);
  send(response, 200, { keys: stub.signingKeys.map(toJwk) });
}

function store(stub: FalStub, exchange: Exchange) {
  const { pathname: path } = exchange.url;
  const stage = path.startsWith('/storage/') ? 'initiate' : path.endsWith('/complete') ? 'complete' : 'put';
  const fault = stub.faults[stage]?.shift();
  if (fault) return strike(exchange.response, fault);
  if (stage === 'initiate' && exchange.headers.authorization !== `Key ${stub.apiKey}`) {
    return send(exchange.response, 401, { detail: 'No user found for Key ID and Secret' });
  }
  const answer = stub.storage.answer({ ...exchange, baseUrl: stub.baseUrl });
  if (Buffer.isBuffer(answer.body)) {
    exchange.response.writeHead(answer.status).end(answer.body);
  } else send(exchange.response, answer.status, answer.body);
}

function sendOutput(stub: FalStub, { url, response }: Exchange) {
  const fault = stub.faults.output?.shift();
  if (fault) return strike(response, fault);
  const file = outputFile(url.pathname) ?? { type: 'video/mp4', bytes: STUB_VIDEO };
  response.writeHead(200, { 'content-type': stub.outputType ?? file.type }).end(stub.output ?? file.bytes);
}

function submit(stub: FalStub, { url, headers, body, response }: Exchange) {
  const fault = stub.faults.submit?.shift();
  if (fault?.kind === 'reply' || fault?.kind === 'reset') return strike(response, fault);
  const model = url.pathname.slice(1);
  if (stub.locked) {
    const detail = 'User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.';
    return send(response, 403, { detail });
  }
  if (!Object.hasOwn(STUB_MODELS, model)) {
    return send(response, 404, { detail: `Application '${model}' not found` });
  }
  const requestId = crypto.randomUUID();
  const order: StubOrder = {
    requestId,
    model,
    input: JSON.parse(body.toString('utf8')) as Record<string, unknown>,
    headers,
    webhook: url.searchParams.get('fal_webhook') ?? undefined,
    cancelled: false,
    steps: [...stub.steps],
    result: stub.result,
  };
  stub.orders.push(order);
  if (fault) return strike(response, fault);
  const root = `${stub.baseUrl}/${appOf(model)}/requests/${requestId}`;
  response.setHeader('x-fal-request-id', requestId);
  send(response, 200, {
    status: 'IN_QUEUE',
    request_id: requestId,
    gateway_request_id: requestId,
    response_url: root,
    status_url: `${root}/status`,
    cancel_url: `${root}/cancel`,
    queue_position: 0,
  });
}

function appOf(model: string): string {
  const segments = model.split('/');
  return segments.slice(0, segments[0] === 'workflows' ? 3 : 2).join('/');
}

interface Question {
  app: string;
  id: string;
  what: string;
}

async function ask(stub: FalStub, exchange: Exchange, { app, id, what }: Question): Promise<void> {
  const { method, response } = exchange;
  const stage = what === '/status' ? 'status' : what === '/cancel' ? 'cancel' : 'result';
  const fault = stub.faults[stage]?.shift();
  if (fault) return strike(response, fault);
  const order = stub.orders.find((each) => each.requestId === id && appOf(each.model) === app);
  if (!order) return send(response, 404, { detail: 'Request not found', status: 'NOT_FOUND' });
  response.setHeader('x-fal-request-id', id);
  if (stage === 'cancel' && method === 'PUT') return cancelOrder(response, order);
  if (method !== 'GET') return send(response, 405, { detail: 'Method Not Allowed' });
  if (stage === 'status') return tellStatus(stub, exchange, order);
  if (order.steps.length > 0) return send(response, 400, { detail: 'Request is still in progress' });
  const { status, body } = resultOf(stub, order);
  send(response, status, body);
}

function cancelOrder(response: ServerResponse, order: StubOrder) {
  if (order.steps.length === 0) return send(response, 400, { status: 'ALREADY_COMPLETED' });
  order.cancelled = true;
  send(response, 202, { status: 'CANCELLATION_REQUESTED' });
}

function tellStatus(stub: FalStub, { url, response }: Exchange, order: StubOrder) {
  const step = order.steps.shift();
  const root = `${stub.baseUrl}/${appOf(order.model)}/requests/${order.requestId}`;
  const logs = (step?.logs ?? []).map((message) => ({
    message,
    level: 'INFO',
    source: 'USER',
    timestamp: '2026-08-01T12:00:00.000Z',
  }));
  const status = step?.status ?? 'COMPLETED';
  send(response, status === 'COMPLETED' ? 200 : 202, {
    status,
    request_id: step?.requestId ?? order.requestId,
    response_url: root,
    status_url: `${root}/status`,
    cancel_url: `${root}/cancel`,
    ...(status === 'IN_QUEUE' && { queue_position: step?.queuePosition ?? 0 }),
    ...(status !== 'IN_QUEUE' && { logs: url.searchParams.get('logs') === '1' ? logs : null }),
    ...(status === 'COMPLETED' && { metrics: { inference_time: 1.5 } }),
  });
}

function resultOf(stub: FalStub, order: StubOrder): { status: number; body: unknown } {
  if (order.result) return order.result;
  const detail = errorsOf(order.model, order.input);
  if (detail.length > 0) return { status: 422, body: { detail } };
  const made = mediaResult({ ...order, baseUrl: stub.baseUrl });
  if (made) return { status: 200, body: made };
  const audio = STUB_MODELS[order.model]?.output === 'audio';
  const name = `${order.requestId}.${audio ? 'mp3' : 'mp4'}`;
  const file = {
    url: `${stub.baseUrl}/outputs/${name}`,
    content_type: audio ? 'audio/mpeg' : 'video/mp4',
    file_name: name,
    file_size: (audio ? STUB_AUDIO : STUB_VIDEO).length,
  };
  return { status: 200, body: audio ? { audio: file } : { video: file, seed: 7 } };
}

function webhookBody(stub: FalStub, order: StubOrder): object {
  const { status, body: payload } = resultOf(stub, order);
  const ids = { request_id: order.requestId, gateway_request_id: order.requestId };
  if (status === 200) return { ...ids, status: 'OK', payload };
  return { ...ids, status: 'ERROR', error: `Unexpected status code: ${status}`, payload };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createServiceHttp, type ServiceHttp, type ServiceHttpOptions } from '../../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../../infra/http/serviceHttpError.ts';
import { providerRequests } from '../../../infra/telemetry/counters.ts';
import { type OpenAiStub, startOpenAiStub } from '../../stubs/openai.ts';

let stub: OpenAiStub;
let opened: { destroy(): Promise<void> }[];
beforeEach(async () => {
  stub = await startOpenAiStub();
  stub.apiKey = undefined;
  opened = [];
});
afterEach(async () => {
  await Promise.all(opened.map((each) => each.destroy()));
  await stub.close();
});

function open(change: Partial<ServiceHttpOptions> = {}): ServiceHttp {
  const reached = { name: 'text', baseUrl: stub.baseUrl, allowPrivateNetwork: true };
  const http = createServiceHttp({ ...reached, keepsConnections: true, ...change });
  opened.push(http);
  return http;
}

const messages = [{ role: 'user', content: 'Hello' }];
function call(change: object = {}, signal: AbortSignal = new AbortController().signal) {
  return { path: '/chat/completions', json: { model: 'gpt-stub', messages, ...change }, signal };
}

async function read(http: ServiceHttp, change?: object): Promise<number> {
  const reply = await http.post(call(change));
  await reply.body.whole(1e6);
  return reply.status;
}

async function failureOf(work: Promise<unknown>): Promise<ServiceHttpError> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  if (!(error instanceof ServiceHttpError)) throw new Error(`no ServiceHttpError: ${String(error)}`);
  return error;
}

async function gauge(): Promise<Record<string, number>> {
  const { values } = await providerRequests.get();
  const ours = values.filter(({ labels }) => labels.provider === 'text');
  return Object.fromEntries(ours.map(({ labels, value }) => [String(labels.state), value]));
}

/** A TCP service: `answer` gets the socket of each request. */
async function rawService(answer: (socket: Socket, count: number) => void): Promise<string> {
  let count = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => {
      count += 1;
      answer(socket, count);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    destroy: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const WHOLE = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

describe('connections', () => {
  it('are kept alive: sequential calls share one', async () => {
    const http = open();
    for (let at = 0; at < 5; at += 1) expect(await read(http)).toBe(200);
    // A connection is free a moment after its answer was read.
    expect(new Set(stub.received.map(({ connection }) => connection)).size).toBeLessThan(3);
  });

  it('are opened per running call, up to a thousand streams at once', async () => {
    const http = open();
    stub.otherwise = { hang: 2 };
    const signal = new AbortController();
    const replies = await Promise.all(
      Array.from({ length: 1_000 }, () => http.post(call({ stream: true }, signal.signal))),
    );
    expect(stub.running()).toBe(1_000);
    expect(await gauge()).toEqual({ running: 1_000, queued: 0 });
    signal.abort();
    await Promise.allSettled(replies.map(({ body }) => body.whole(1e6)));
    expect(await gauge()).toEqual({ running: 0, queued: 0 });
  });

  it('in the queue are counted, and left at an abort', async () => {
    const url = await rawService(() => undefined);
    // A name that is never resolved, so that no connection is opened.
    const http = open({
      baseUrl: url.replace('127.0.0.1', 'slow.test'),
      resolve: () => new Promise(() => undefined),
    });
    const caller = new AbortController();
    const failure = failureOf(http.post(call({}, caller.signal)));
    await sleep(20);
    expect(await gauge()).toEqual({ running: 0, queued: 1 });
    caller.abort();
    expect(await failure).toMatchObject({ failure: 'stopped', sent: 'not_sent' });
    expect(await gauge()).toEqual({ running: 0, queued: 0 });
  });

  it('closed by the service while idle are not used again', async () => {
    const http = open();
    await read(http);
    stub.closeResting();
    await sleep(50);
    expect(await read(http)).toBe(200);
  });

  it('that break on the second call, before a byte of its answer, are lost and never "not sent"', async () => {
    const baseUrl = await rawService((socket, count) => {
      if (count === 1) socket.write(WHOLE);
      else socket.resetAndDestroy();
    });
    const http = open({ baseUrl });
    await read(http);
    expect(await failureOf(read(http))).toMatchObject({ failure: 'lost', sent: 'unknown' });
  });

  it('follow no redirect', async () => {
    stub.next.push({ status: 307, headers: { location: `${stub.baseUrl}/embeddings` } });
    expect(await read(open())).toBe(307);
    expect(stub.received).toHaveLength(1);
  });
});

describe('an answer', () => {
  const broken: [string, string, string, string][] = [
    ['that is no HTTP', 'SSH-2.0-OpenSSH\r\n\r\n', 'garbage', 'unknown'],
    ['with a head without end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}\r\n`, 'garbage', 'unknown'],
    ['that is cut by its length', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}', 'lost', 'unknown'],
    ['that is cut in a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}', 'lost', 'unknown'],
    ['of nothing', '', 'lost', 'unknown'],
  ];
  it.each(broken)('%s', async (_what, bytes, failure, sent) => {
    const http = open({ baseUrl: await rawService((socket) => socket.end(bytes)) });
    expect(await failureOf(read(http))).toMatchObject({ failure, sent });
  });

  it('is read in chunks, and what arrived before a failure is kept', async () => {
    const baseUrl = await rawService((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab');
      setTimeout(() => socket.destroy(), 50);
    });
    const { body } = await open({ baseUrl }).post(call());
    await sleep(100);
    expect((await body.next())?.toString()).toBe('ab');
    expect(await failureOf(body.next())).toMatchObject({ failure: 'lost' });
    expect(await failureOf(body.next())).toMatchObject({ failure: 'lost' });
  });

  it('has a limit for its first byte and for a silence', async () => {
    const http = open({ timeouts: { firstByteMs: 200, idleMs: 100 } });
    stub.next.push({ hang: 'head' }, { hang: 3 }, { hang: 0 });
    for (const change of [{}, { stream: true }, { stream: true }]) {
      expect(await failureOf(read(http, change))).toMatchObject({ failure: 'timeout', sent: 'unknown' });
    }
  });

  it('beyond the maximum size is garbage', async () => {
    stub.next.push({ body: Buffer.alloc(50_000, 'x') });
    expect(await failureOf(read(open({ maxReplyBytes: 10_000 })))).toMatchObject({ failure: 'garbage' });
  });

  it('that nobody reads breaks neither the process nor the next call', async () => {
    const http = open();
    for (let at = 0; at < 3; at += 1) (await http.post(call({ stream: true }))).body.release();
    expect(await read(http)).toBe(200);
  });
});

it('ends when the client is destroyed', async () => {
  const http = open();
  stub.next.push({ hang: 'head' });
  const running = failureOf(read(http));
  await expect.poll(() => stub.received.length).toBe(1);
  await http.destroy();
  expect(await running).toMatchObject({ failure: 'lost' });
  expect(await failureOf(read(http))).toMatchObject({ failure: 'unreachable', sent: 'not_sent' });
});

describe('a multipart form', () => {
  const folder = mkdtempSync(join(tmpdir(), 'farebox-form-'));
  const path = join(folder, 'file.bin');
  writeFileSync(path, Buffer.alloc(8 * 1024 * 1024, 1));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const files = [{ name: 'file', path, filename: 'a"b.bin', contentType: 'audio/wav' }];
  const signal = new AbortController().signal;

  it('is sent with its files, its repeated fields and a query', async () => {
    let received: Promise<FormData> | undefined;
    let url: string | undefined;
    const server = createHttpServer(async (request, response) => {
      url = request.url;
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const type = request.headers['content-type'] ?? '';
      if (type.startsWith('multipart/'))
        received = new Response(Buffer.concat(pieces), { headers: { 'content-type': type } }).formData();
      response.end('12345');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
    const multipart = { fields: { model: 'm', 'times[]': ['word', 'segment'] }, files };
    const http = open({ baseUrl });
    const reply = await http.post({ path: '/form', query: { format: 'a b' }, multipart, signal });
    expect((await reply.body.whole(10)).toString()).toBe('12345');
    const form = await received;
    expect(url).toBe('/v1/form?format=a+b');
    expect([form?.get('model'), form?.getAll('times[]')]).toEqual(['m', ['word', 'segment']]);
    expect(form?.get('file')).toMatchObject({ size: 8 * 1024 * 1024, type: 'audio/wav' });
    const small = await http.post({ path: '/form', json: {}, maxBytes: 4, signal });
    expect(await failureOf(small.body.whole(10))).toMatchObject({ failure: 'garbage' });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('refused while it is sent has the answer that came', async () => {
    const refusal = 'HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno';
    const baseUrl = await rawService((socket, count) => void (count === 1 && socket.write(refusal)));
    const reply = await open({ baseUrl }).post({ path: '/form', multipart: { fields: {}, files }, signal });
    expect(reply.status).toBe(413);
    expect((await reply.body.whole(10)).toString()).toBe('no');
  });

  it('ends when its caller aborts', async () => {
    let closed = false;
    const baseUrl = await rawService((socket, count) => {
      if (count > 1) return;
      socket.once('close', () => {
        closed = true;
      });
      // Leaves most of the form unsent when the caller aborts.
      socket.pause();
      setTimeout(() => socket.resume(), 100);
    });
    const left = new AbortController();
    const asked = open({ baseUrl }).post({
      path: '/form',
      multipart: { fields: {}, files },
      signal: left.signal,
    });
    setTimeout(() => left.abort(), 50);
    expect(await failureOf(asked)).toMatchObject({ failure: 'stopped' });
    await expect.poll(() => closed).toBe(true);
  });
});

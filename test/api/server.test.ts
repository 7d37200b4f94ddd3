import { randomBytes } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { binary, json } from '../../api/http/answer.ts';
import { defineRoute } from '../../api/http/route.ts';
import { drain } from '../../api/server/drain.ts';
import { endsBefore } from '../harness/until.ts';
import { sendRaw } from './sendRaw.ts';
import { startApi, type TestApi } from './startApi.ts';

const MEGABYTE = 1_048_576;
const events: string[] = [];

/** Announces `bytes` and sends `sent`, with `pause` between two chunks. */
const bytes = defineRoute({
  method: 'GET',
  path: '/test/bytes',
  access: 'open',
  query: z.strictObject({
    bytes: z.coerce.number(),
    sent: z.coerce.number(),
    pauseMs: z.coerce.number().default(0),
    fails: z.string().optional(),
  }),
  async handler(_dependencies, { query }) {
    async function* pieces() {
      if (query.fails === 'first') throw new Error('the store is gone');
      for (let left = query.sent; left > 0; left -= 65_536) {
        if (query.pauseMs) await sleep(query.pauseMs);
        yield Buffer.alloc(Math.min(left, 65_536), 1);
      }
    }
    begun += 1;
    return binary({
      stream: Readable.from(pieces()),
      contentType: 'audio/wav',
      sizeBytes: query.bytes,
      onDelivered: async () => {
        await sleep(20);
        events.push('delivered');
      },
      onAborted: async () => {
        events.push('aborted');
      },
    });
  },
});

/** Calls of these routes that were handed to their handlers. */
let begun = 0;

const slow = defineRoute({
  method: 'GET',
  path: '/test/slow/{ms}',
  access: 'open',
  async handler(_dependencies, { params }) {
    begun += 1;
    await sleep(Number(params.ms));
    events.push('handled');
    return json({ waited: params.ms });
  },
});

const echo = defineRoute({
  method: 'POST',
  path: '/test/echo',
  access: 'key',
  body: { json: { schema: z.strictObject({}), maxBytes: 1_000 } },
  handler: async () => json({ echo: true }),
});

const routes = [bytes, slow, echo];
let api: TestApi;
beforeAll(async () => {
  api = await startApi({ routes, connectionsPerAddress: 50 });
});
afterAll(() => api.stop());

const takeEvents = () => events.splice(0);

describe('a streamed answer', () => {
  it('is complete before it counts as delivered', async () => {
    takeEvents();
    const response = await api.call(`/test/bytes?bytes=${MEGABYTE}&sent=${MEGABYTE}`);
    expect(response.headers.get('content-length')).toBe(String(MEGABYTE));
    expect((await response.arrayBuffer()).byteLength).toBe(MEGABYTE);
    await expect.poll(takeEvents).toEqual(['delivered']);
  });

  it('without content is complete', async () => {
    const response = await api.call('/test/bytes?bytes=0&sent=0');
    expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, 0]);
    await expect.poll(takeEvents).toEqual(['delivered']);
  });

  it.each([
    ['that ends too early', `bytes=${MEGABYTE}&sent=500000`],
    ['that goes on too long', `bytes=500000&sent=${MEGABYTE}`],
  ])('%s is cut and does not look complete', async (_name, query) => {
    const response = await api.call(`/test/bytes?${query}`);
    await expect(response.arrayBuffer()).rejects.toThrow();
    await expect.poll(takeEvents).toEqual(['aborted']);
  });

  it('that fails before its first byte is a 503', async () => {
    const response = await api.call('/test/bytes?bytes=9&sent=9&fails=first');
    expect(response.status).toBe(503);
    await expect.poll(takeEvents).toEqual(['aborted']);
  });

  it('whose client goes away is not delivered', async () => {
    const client = new AbortController();
    const response = await api.call(`/test/bytes?bytes=${20 * MEGABYTE}&sent=${20 * MEGABYTE}&pauseMs=2`, {
      signal: client.signal,
    });
    await response.body?.getReader().read();
    client.abort();
    await expect.poll(takeEvents).toEqual(['aborted']);
    await expect.poll(() => api.inFlight.count).toBe(0);
  });
});

describe('malformed HTTP', () => {
  const get = '/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n';
  it.each([
    ['a header of 20 kB', `GET ${get}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['20 kB of path', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['rubbish', 'rubbish\r\n\r\n', 400],
    ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    [
      'a length and a transfer coding',
      `POST ${get}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['two different lengths', `POST ${get}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`, 400],
    ['a negative length', `POST ${get}Content-Length: -1\r\n\r\n`, 400],
    ['an unknown transfer coding', `POST ${get}Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n`, 400],
    ['a line feed alone between headers', 'GET /healthz HTTP/1.1\nHost: x\n\n', 400],
    ['a space before the colon', `GET ${get}X : y\r\n\r\n`, 400],
    ['a NUL in a header', `GET ${get}X: a\0b\r\n\r\n`, 400],
    ['a folded header', `GET ${get}X: a\r\n b\r\n\r\n`, 400],
    ['a wrong chunk size', `POST ${get}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`, 400],
  ])('%s', async (_name, request, status) => {
    const answer = await sendRaw(api.port, request);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (status >= 400) expect(answer).toMatch(/x-request-id: [0-9a-f]{32}\r\n.*\{"error":".+"\}$/is);
  });

  it('sends one answer per request, also when requests are pipelined', async () => {
    const answer = await sendRaw(api.port, `GET ${get.replace('close', 'keep-alive')}\r\nGET ${get}\r\n`);
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });

  it('ignores Host and forwarding headers', async () => {
    const plain = await (await api.call('/billing/balance')).json();
    for (const header of [
      'Host: evil.example:1',
      'Host: x@evil.example',
      'Host: a?b#c',
      'Host: x\r\nX-Forwarded-Host: evil',
      'Host: x\r\nForwarded: host=evil',
    ]) {
      const answer = await sendRaw(
        api.port,
        `GET /api/v1/billing/balance HTTP/1.1\r\nConnection: close\r\n${header}\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 402 /);
      expect(answer).not.toContain('evil');
      expect(answer).toContain(JSON.stringify((plain as { resource: unknown }).resource));
    }
    const absolute = await sendRaw(
      api.port,
      'GET http://evil.example/api/v1/billing/balance HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(absolute).not.toContain('evil');
  });

  it('answers a client that waits for 100 Continue before it sends its body', async () => {
    const { secret } = await api.newKey('INFERENCE');
    const request = (key: string) =>
      `POST /api/v1/test/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
      'Expect: 100-continue\r\nContent-Length: 2\r\n\r\n';
    const refused = await sendRaw(api.port, request('nobody'));
    expect(refused).toMatch(/^HTTP\/1\.1 401 /);
    const asked = await sendRaw(api.port, `${request(secret)}{}`);
    expect(asked).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});

describe('slow and surplus clients', () => {
  it('limits the connections of one address', async () => {
    const sockets = Array.from({ length: 80 }, () => net.connect(api.port, '127.0.0.1').on('error', () => undefined));
    await sleep(300);
    expect(
      sockets.filter((socket) => !socket.closed && !socket.destroyed && socket.readyState === 'open').length,
    ).toBeLessThanOrEqual(50);
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await fetch(`${api.origin}/healthz`)).status).toBe(200);
  });

  it('one network of IPv6 has at most that number, whatever its addresses', () => {
    const connect = (remoteAddress: string) => {
      const socket = Object.defineProperty(new net.Socket(), 'remoteAddress', { value: remoteAddress });
      api.server.emit('connection', socket);
      return socket;
    };
    const ofNetwork = Array.from({ length: 60 }, (_, index) => connect(`2001:db8:1:2::${index.toString(16)}`));
    const stranger = connect('2001:db8:1:3::1');
    expect(ofNetwork.map(({ destroyed }) => destroyed)).toEqual([...Array(50).fill(false), ...Array(10).fill(true)]);
    expect(stranger.destroyed).toBe(false);
    for (const socket of [...ofNetwork, stranger]) socket.destroy();
  });

  it('ends a connection without headers after ten seconds', async () => {
    const answer = await sendRaw(api.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-', { quietMs: 100_000 });
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(api.server.headersTimeout).toBe(10_000);
  });

  it('ends a connection whose body trickles', async () => {
    const { secret } = await api.newKey('INFERENCE');
    const socket = net.connect(api.port, '127.0.0.1').on('error', () => undefined);
    socket.write(
      `POST /api/v1/test/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 900\r\n\r\n',
    );
    const trickle = setInterval(() => socket.write(' '), 200);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(trickle);
    await expect.poll(() => api.inFlight.count).toBe(0);
  });
});

describe('health', () => {
  it('reports the process as alive and each part as ready', async () => {
    expect(await (await fetch(`${api.origin}/healthz`)).json()).toEqual({ status: 'alive' });
    const ready = await fetch(`${api.origin}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: 'ready', parts: { postgres: 'ok', redis: 'ok', s3: 'ok', temporal: 'ok' } },
    ]);
  });

  it.each([
    ['postgres', 'DATABASE_URL', 'postgres://x:y@127.0.0.1:1/z'],
    ['redis', 'REDIS_URL', 'redis://127.0.0.1:1'],
    ['s3', 'S3_ENDPOINT', 'http://127.0.0.1:1'],
    ['temporal', 'TEMPORAL_ADDRESS', '127.0.0.1:1'],
  ])('reports within seconds that it is not ready without %s, and stays alive', async (part, variable, value) => {
    const lame = await startApi({ environment: { ...api.environment, [variable]: value } });
    try {
      const asked = fetch(`${lame.origin}/readyz`);
      expect(await endsBefore(asked, 8_000)).toBe(true);
      const ready = await asked;
      expect(ready.status).toBe(503);
      const { parts } = (await ready.json()) as { parts: Record<string, string> };
      expect(Object.keys(parts).filter((name) => parts[name] === 'missing')).toEqual([part]);
      expect((await fetch(`${lame.origin}/healthz`)).status).toBe(200);
      const { status } = await lame.call('/billing/balance', {
        key: `FAREBOX_ADMIN_KEY_${randomBytes(32).toString('base64url')}`,
      });
      expect(status).toBe(part === 'postgres' ? 503 : 401);
    } finally {
      // Temporal's client retries until the deadline of its call, although the connection is closed.
      if (part === 'temporal') await sleep(2_500);
      await lame.stop();
    }
  });

  it('shows parts and figures to other machines by the token only', async () => {
    const guarded = await startApi({
      environment: { ...api.environment, FAREBOX_METRICS_TOKEN: 'a-token-of-20-chars.' },
      config: (config) => ({ ...config, limits: { ...config.limits, trustedProxies: ['127.0.0.1'] } }),
    });
    try {
      const get = async (path: string, more: Record<string, string> = {}) => {
        const headers = { 'x-forwarded-for': '203.0.113.9', ...more };
        const response = await fetch(`${guarded.origin}${path}`, { headers });
        return { status: response.status, text: await response.text() };
      };
      const bearer = { authorization: 'Bearer a-token-of-20-chars.' };
      expect(await get('/readyz')).toEqual({ status: 200, text: '{"status":"ready"}' });
      expect((await get('/readyz', bearer)).text).toContain('"postgres":"ok"');
      const closed = await get('/metrics', { authorization: 'Bearer a-token-of-20-charz.' });
      const unknown = await get('/no-such-path');
      expect(closed).toEqual({ status: 404, text: unknown.text });
      expect((await get('/metrics', bearer)).text).toContain('farebox_holds_open');
    } finally {
      await guarded.stop();
    }
  });

  it('serves metrics to Prometheus', async () => {
    const response = await fetch(`${api.origin}/metrics`);
    const text = await response.text();
    expect(response.headers.get('content-type')).toContain('text/plain');
    for (const name of [
      'farebox_http_request_duration_seconds_bucket',
      'farebox_http_requests_in_flight',
      'farebox_http_connections',
      'farebox_holds_open',
      'farebox_jobs_running',
      'nodejs_eventloop_lag_seconds',
      'process_resident_memory_bytes',
    ]) {
      expect(text).toContain(name);
    }
    expect(text).toMatch(/farebox_database_figures_readable\{[^}]*\} 1/);
    expect(text).not.toMatch(/route="\/(api|test\/slow\/\d)/);
  });
});

describe('the end of a process', () => {
  it('finishes every answer, accepts no new connection, and marks each last answer', async () => {
    const ending = await startApi({ routes, environment: api.environment });
    takeEvents();
    const agent = new http.Agent({ keepAlive: true });
    const get = (path: string) =>
      new Promise<{ status: number | undefined; connection: string | undefined; bytes: number }>((resolve, reject) => {
        const request = http.get(`${ending.baseUrl}${path}`, { agent }, (response) => {
          let received = 0;
          response.on('data', (chunk: Buffer) => {
            received += chunk.length;
          });
          response.on('end', () =>
            resolve({
              status: response.statusCode,
              connection: response.headers.connection,
              bytes: received,
            }),
          );
          response.on('error', reject);
        });
        request.on('error', reject);
      });
    await Promise.all([1, 2, 3].map(() => get('/test/slow/50')));
    takeEvents();
    const before = begun;
    const answers = [get('/test/slow/3000'), get(`/test/bytes?bytes=${MEGABYTE}&sent=${MEGABYTE}&pauseMs=60`)];
    await expect.poll(() => begun - before).toBe(2);
    const ended = drain(ending.server, ending.inFlight, 60_000);
    await sleep(50);
    // An idle connection is not reset while a request is on its way.
    expect(await get('/test/slow/0')).toMatchObject({ status: 200, connection: 'close' });
    await expect(fetch(`${ending.origin}/healthz`)).rejects.toThrow();
    const [slowAnswer, streamed] = await Promise.all(answers);
    expect(slowAnswer?.status).toBe(200);
    expect(streamed?.bytes).toBe(MEGABYTE);
    expect(await ended).toBe(true);
    expect(takeEvents().sort()).toEqual(['delivered', 'handled', 'handled']);
    await ending.opened.close();
    agent.destroy();
  });

  it('comes at the deadline even when a handler does not', async () => {
    const ending = await startApi({ routes, environment: api.environment });
    const before = begun;
    const answer = ending.call('/test/slow/5000').catch(() => 'cut');
    await expect.poll(() => begun - before).toBe(1);
    expect(await drain(ending.server, ending.inFlight, 1_500)).toBe(false);
    expect(await answer).toBe('cut');
    await ending.opened.close();
  });
});

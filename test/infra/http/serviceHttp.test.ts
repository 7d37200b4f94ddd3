import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BodyFile } from '../../../infra/http/multipart.ts';
import { createServiceHttp, type ServiceHttp, type ServiceHttpOptions } from '../../../infra/http/serviceHttp.ts';
import { ServiceHttpError } from '../../../infra/http/serviceHttpError.ts';
import { BEHAVIOURS, type Behaviour, type HostileServer, hostileServer } from './hostileServer.ts';

const folder = mkdtempSync(join(tmpdir(), 'farebox-provider-'));
const open: ServiceHttp[] = [];
let server: HostileServer;

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const echo: Behaviour = (request, response) => {
  void readAll(request).then((body) =>
    response
      .writeHead(201, { 'x-request-id': 'r1' })
      .end(JSON.stringify({ headers: request.headers, url: request.url, body: body.toString('latin1') })),
  );
};

beforeAll(async () => {
  server = await hostileServer({
    ...BEHAVIOURS,
    '/v1/echo': echo,
    '/v1/busy': (_, response) => response.writeHead(429, { 'retry-after': '7' }).end('{"detail":"busy"}'),
    '/v1/moved': (_, response) => response.writeHead(302, { location: '/good' }).end(),
    '/v1/announced': (_, response) => response.writeHead(200, { 'content-length': '101' }).write('sound'),
    '/v1/read-and-reset': (request) => void readAll(request).then(() => request.socket.resetAndDestroy()),
  });
});

afterAll(async () => {
  await Promise.all(open.map((http) => http.close()));
  await server.close();
  rmSync(folder, { recursive: true });
});

function provider(options: Partial<ServiceHttpOptions> = {}): ServiceHttp {
  const http = createServiceHttp({
    baseUrl: `http://127.0.0.1:${server.port}/v1/`,
    allowPrivateNetwork: true,
    ...options,
  });
  open.push(http);
  return http;
}

async function sent(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'answered';
  } catch (error) {
    if (!(error instanceof ServiceHttpError)) throw error;
    return error.sent;
  }
}

describe('a call', () => {
  it('sends its headers, query and JSON, and returns status, headers and body', async () => {
    const http = provider({ headers: { 'x-key': 'k' } });
    const reply = await http.request({
      method: 'POST',
      path: '/echo',
      query: { a: 'b c' },
      json: { words: 'é' },
    });
    expect(reply.status).toBe(201);
    expect(reply.headers['x-request-id']).toBe('r1');
    const seen = JSON.parse(reply.body.toString());
    expect(seen.url).toBe('/v1/echo?a=b+c');
    expect(seen.headers['x-key']).toBe('k');
    expect(Buffer.from(seen.body, 'latin1').toString()).toBe('{"words":"é"}');
  });

  it('streams a file as multipart with a known length', async () => {
    const path = join(folder, 'source "odd".wav');
    writeFileSync(path, Buffer.alloc(90_000, 7));
    const multipart = {
      fields: { voice: 'alto', 'a"b\r\n': 'x' },
      files: [{ name: 'audio', path, filename: 'sou"rce.wav', contentType: 'audio/wav' }],
    };
    const seen = JSON.parse((await provider().request({ method: 'POST', path: '/echo', multipart })).body.toString());
    expect(Number(seen.headers['content-length'])).toBe(seen.body.length);
    expect(seen.headers['transfer-encoding']).toBeUndefined();
    expect(seen.body).toContain('name="voice"\r\n\r\nalto\r\n');
    expect(seen.body).toContain('name="a%22b%0D%0A"');
    expect(seen.body).toContain('filename="sou%22rce.wav"\r\nContent-Type: audio/wav\r\n\r\n\x07');
  });

  it('sends a file, a part of one or an empty one as the whole body, with a known length', async () => {
    const path = join(folder, 'medium');
    writeFileSync(path, '0123456789');
    writeFileSync(`${path}-empty`, '');
    const send = async (file: BodyFile) => {
      const reply = await provider().request({ method: 'PUT', path: '/echo', file });
      const { headers, body } = JSON.parse(reply.body.toString());
      return [headers['content-type'], headers['content-length'], body, headers['transfer-encoding']];
    };
    const contentType = 'video/mp4';
    expect(await send({ path, contentType })).toEqual([contentType, '10', '0123456789', undefined]);
    const part = { path, contentType, range: { start: 3, end: 5 } };
    expect(await send(part)).toEqual([contentType, '2', '34', undefined]);
    expect(await send({ path: `${path}-empty`, contentType })).toEqual([contentType, '0', '', undefined]);
    const gone = { path: '/nowhere', contentType };
    expect(await sent(provider().request({ method: 'PUT', path: '/echo', file: gone }))).toBe('not_sent');
  });

  it('saves an answer to a file with its hash, and reports other statuses without a file', async () => {
    const path = join(folder, 'output');
    const http = provider({ baseUrl: `http://127.0.0.1:${server.port}` });
    const saved = await http.download({ method: 'POST', path: '/good', json: {} }, { path, maxBytes: 100 });
    expect(saved).toMatchObject({
      saved: true,
      status: 200,
      sizeBytes: 5,
      sha256: createHash('sha256').update('sound').digest('hex'),
    });
    expect(readFileSync(path, 'utf8')).toBe('sound');
    const busy = await http.download(
      { method: 'POST', path: '/v1/busy' },
      { path: join(folder, 'none'), maxBytes: 100 },
    );
    expect(busy).toMatchObject({ saved: false, status: 429 });
    expect(busy.headers['retry-after']).toBe('7');
    expect(existsSync(join(folder, 'none'))).toBe(false);
  });

  it('does not read an answer whose announced length is too large', async () => {
    const path = join(folder, 'announced');
    const call = { method: 'GET', path: '/announced' } as const;
    const failure = await provider()
      .download(call, { path, maxBytes: 100 })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ sent: 'unknown', message: 'the answer is too large' });
    expect(existsSync(path)).toBe(false);
  });

  it('never follows a redirect', async () => {
    server.requests.length = 0;
    expect((await provider().request({ method: 'GET', path: '/moved' })).status).toBe(302);
    expect(server.requests).toHaveLength(1);
  });
});

describe('the acceptance of a failed request', () => {
  it('is excluded when nothing listens, the name is unknown or the address is forbidden', async () => {
    const closed = createTcpServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const get = { method: 'GET', path: '/' } as const;
    expect(await sent(provider({ baseUrl: `http://127.0.0.1:${port}` }).request(get))).toBe('not_sent');
    const resolve = () => Promise.reject(new Error('ENOTFOUND'));
    expect(await sent(provider({ baseUrl: 'http://nobody.example', resolve }).request(get))).toBe('not_sent');
    server.requests.length = 0;
    expect(await sent(provider({ allowPrivateNetwork: false }).request(get))).toBe('not_sent');
    expect(server.requests).toEqual([]);
    const aborted = AbortSignal.abort(new Error('no'));
    expect(await sent(provider().request({ ...get, signal: aborted }))).toBe('not_sent');
    const gone = { fields: {}, files: [{ name: 'a', path: '/nowhere', filename: 'a', contentType: 'a/b' }] };
    expect(await sent(provider().request({ method: 'POST', path: '/echo', multipart: gone }))).toBe('not_sent');
  });

  it('is excluded when the call is aborted before the connection', async () => {
    const resolve = () => new Promise<string[]>(() => undefined);
    const http = createServiceHttp({ baseUrl: 'http://slow.example', resolve });
    const signal = AbortSignal.timeout(50);
    expect(await sent(http.request({ method: 'GET', path: '/', signal }))).toBe('not_sent');
    await http.destroy();
  });

  it('is excluded when the TLS handshake fails', async () => {
    const plain = provider({ baseUrl: `https://127.0.0.1:${server.port}` });
    expect(await sent(plain.request({ method: 'GET', path: '/' }))).toBe('not_sent');
  });

  it('is possible in every other case', async () => {
    const timeouts = { firstByteMs: 1_000, idleMs: 1_000, totalMs: 60_000 };
    const http = provider({ baseUrl: `http://127.0.0.1:${server.port}`, timeouts });
    for (const path of [
      '/silent',
      '/silent-after-head',
      '/reset',
      '/v1/read-and-reset',
      '/garbage',
      '/short',
      '/headers-missing/../short',
      '/endless',
    ]) {
      expect(await sent(http.request({ method: 'POST', path, json: { a: 1 } })), path).toBe('unknown');
    }
    const target = { path: join(folder, 'never'), maxBytes: 1_000_000 };
    expect(await sent(http.download({ method: 'POST', path: '/endless', json: {} }, target))).toBe('unknown');
    expect(existsSync(target.path)).toBe(false);
    const signal = AbortSignal.timeout(200);
    expect(await sent(http.request({ method: 'POST', path: '/silent', json: {}, signal }))).toBe('unknown');
  });

  it('is possible at the overall deadline, however steadily the answer arrives', async () => {
    const http = provider({ baseUrl: `http://127.0.0.1:${server.port}`, timeouts: { totalMs: 2_000 } });
    expect(await sent(http.request({ method: 'GET', path: '/slow' }))).toBe('unknown');
  });
});

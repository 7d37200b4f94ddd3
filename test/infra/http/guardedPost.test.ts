import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import type { GuardedFetchOptions } from '../../../infra/http/guardedGet.ts';
import { createGuardedPost } from '../../../infra/http/guardedPost.ts';
import { isPlainlyRefused } from '../../../infra/http/targetUrl.ts';
import { INTERNAL_HOSTS, LOOPBACK_URLS, OTHER_SCHEMES } from './vectors.ts';

interface Seen {
  request: IncomingMessage;
  body: string;
}

let receiver: Server;
let canary: Server;
let port: number;
let canaryPort: number;
const seen: Seen[] = [];
let canaryHits = 0;

beforeAll(async () => {
  receiver = createServer(async (request, response) => {
    seen.push({ request, body: await text(request) });
    const [, what = '', detail = ''] = request.url?.split('/') ?? [];
    if (what === 'hang') return;
    if (what === 'redirect') response.writeHead(307, { location: `http://127.0.0.1:${port}/status/200` }).end();
    else if (what === 'endless') endless(response.writeHead(200));
    else if (what === 'stuck') response.writeHead(200).write('half');
    else response.writeHead(Number(detail)).end('thanks');
  });
  canary = createServer((_request, response) => {
    canaryHits += 1;
    response.end();
  });
  for (const server of [receiver, canary]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }
  port = (receiver.address() as AddressInfo).port;
  canaryPort = (canary.address() as AddressInfo).port;
});

afterAll(() => {
  for (const server of [receiver, canary]) {
    server.closeAllConnections();
    server.close();
  }
});

function endless(response: { write(chunk: Buffer, sent: (error?: Error | null) => void): void }): void {
  response.write(Buffer.alloc(64 * 1024), (error) => {
    if (!error) endless(response);
  });
}

function post(url: string, options: Partial<GuardedFetchOptions> = {}, timeoutMs = 60_000): Promise<number> {
  const guardedPost = createGuardedPost({
    allowPrivateHosts: [`127.0.0.1:${port}`],
    failureFloorMs: 1,
    ...options,
  });
  return guardedPost.post(url, { headers: { 'x-a': 'b' }, body: '{"a":1}', timeoutMs });
}

async function refusal(...asked: Parameters<typeof post>): Promise<string> {
  try {
    return `answered ${await post(...asked)}`;
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

const REFUSED = 'invalid_source: The URL could not be reached.';

describe('a permitted receiver', () => {
  it('gets headers and body unchanged, and its status is returned', async () => {
    for (const status of [200, 204, 400, 410, 500]) {
      expect(await post(`http://127.0.0.1:${port}/status/${status}`)).toBe(status);
    }
    const [{ request, body } = { request: undefined, body: '' }] = seen;
    expect(body).toBe('{"a":1}');
    expect(request?.method).toBe('POST');
    expect(Object.keys(request?.headers ?? {}).sort()).toEqual(['connection', 'content-length', 'host', 'x-a']);
  });

  it('is not followed when it redirects', async () => {
    const before = seen.length;
    expect(await post(`http://127.0.0.1:${port}/redirect`)).toBe(307);
    expect(seen.length).toBe(before + 1);
  });

  it.each(['endless', 'stuck'])('with an %s answer counts by its status, and does not block', async (what) => {
    // The overall deadline is far beyond that of the test.
    expect(await post(`http://127.0.0.1:${port}/${what}`, {}, 3_600_000)).toBe(200);
  });
});

describe('failures with the same message', () => {
  it('cover a silent, a closed, a broken and a forbidden address, and a name that resolves to an internal one', async () => {
    const broken = createTcpServer((socket) => socket.end('no http\r\n\r\n'));
    await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
    const brokenPort = (broken.address() as AddressInfo).port;
    const closedPort = await closed();
    const allowPrivateHosts = [`127.0.0.1:${port}`, `127.0.0.1:${brokenPort}`, `127.0.0.1:${closedPort}`];
    const inside = { resolve: async () => ['127.0.0.1'] };
    const mixed = { resolve: async () => ['93.184.216.34', '10.0.0.1'] };
    const asked: Parameters<typeof post>[] = [
      [`http://127.0.0.1:${port}/hang`, {}, 1_000],
      [`http://127.0.0.1:${closedPort}/`, { allowPrivateHosts }],
      [`http://127.0.0.1:${brokenPort}/`, { allowPrivateHosts }],
      [`http://127.0.0.1:${canaryPort}/`],
      ['http://hooks.example.com/', inside],
      ['http://hooks.example.com/', mixed],
      ['https://hooks.example.com/', { resolve: async () => [] }],
      ...LOOPBACK_URLS.map((url) => [url.replaceAll('{port}', String(canaryPort))] as Parameters<typeof post>),
      ...OTHER_SCHEMES.map((url) => [url] as Parameters<typeof post>),
    ];
    for (const each of asked) expect(await refusal(...each), String(each[0])).toBe(REFUSED);
    expect(canaryHits).toBe(0);
    broken.close();
  });
});

async function closed(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: free } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return free;
}

describe('URLs refused without a request', () => {
  it('include every internal host, every other scheme and port, and a user name', () => {
    const refused = [
      ...INTERNAL_HOSTS.map((host) => `http://${host}/`),
      ...OTHER_SCHEMES,
      'https://hooks.example.com:8443/',
      'https://user:word@hooks.example.com/',
      'hooks.example.com',
      '',
    ];
    for (const url of refused) expect(isPlainlyRefused(url, []), url).toBe(true);
  });

  it('include no public host and no host that the operator allows', () => {
    for (const url of ['https://hooks.example.com/a?b=c', 'http://93.184.216.34/', 'https://example.com:443/']) {
      expect(isPlainlyRefused(url, []), url).toBe(false);
    }
    expect(isPlainlyRefused('http://127.0.0.1:9000/', ['127.0.0.1:9000'])).toBe(false);
    expect(isPlainlyRefused('http://127.0.0.1:9001/', ['127.0.0.1:9000'])).toBe(true);
  });
});

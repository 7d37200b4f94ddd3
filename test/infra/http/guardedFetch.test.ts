import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { createGuardedFetch, type Download, type GuardedFetchOptions } from '../../../infra/http/guardedFetch.ts';
import { BEHAVIOURS, type HostileServer, hostileServer } from './hostileServer.ts';
import { BAD_ANSWERS, INTERNAL_HOSTS, LOOPBACK_HOSTS, LOOPBACK_URLS, OTHER_SCHEMES } from './vectors.ts';

const folder = mkdtempSync(join(tmpdir(), 'farebox-fetch-'));
const path = join(folder, 'download');
const CAP = 25 * 1024 * 1024;

let server: HostileServer;
let canary: HostileServer;
let canary6: HostileServer | undefined;

beforeAll(async () => {
  server = await hostileServer(BEHAVIOURS);
  canary = await hostileServer(BEHAVIOURS);
  canary6 = await hostileServer(BEHAVIOURS, '::1').catch(() => undefined);
});

afterAll(async () => {
  await Promise.all([server.close(), canary.close(), canary6?.close()]);
  rmSync(folder, { recursive: true });
});

function open(options: Partial<GuardedFetchOptions> = {}) {
  const allowPrivateHosts = [`127.0.0.1:${server.port}`, `files.example.com:${server.port}`];
  return createGuardedFetch({ allowPrivateHosts, failureFloorMs: 1, ...options });
}

async function download(
  url: string,
  options: Partial<GuardedFetchOptions> = {},
  timeoutMs = 60_000,
): Promise<Download> {
  rmSync(path, { force: true });
  return open(options).download(url, { path, maxBytes: CAP, timeoutMs });
}

async function refusal(url: string, options: Partial<GuardedFetchOptions> = {}, timeoutMs = 60_000): Promise<string> {
  try {
    await download(url, options, timeoutMs);
    return 'delivered';
  } catch (error) {
    if (!(error instanceof FareboxError)) throw error;
    expect(readdirSync(folder), 'nothing is left behind').toEqual([]);
    return `${error.code}: ${error.message}`;
  }
}

const REFUSED = 'invalid_source: The audio_url could not be fetched.';

function local(pathname: string): string {
  return `http://127.0.0.1:${server.port}${pathname}`;
}

/** A resolver that returns the current answer for each name. */
function answers(...given: string[][]) {
  let asked = 0;
  return async () => given[Math.min(asked++, given.length - 1)] ?? [];
}

describe('an allowed file', () => {
  it('arrives whole, with its hash, size and type', async () => {
    const downloaded = await download(local('/good'));
    expect(readFileSync(path, 'utf8')).toBe('sound');
    expect(downloaded).toEqual({
      sizeBytes: 5,
      sha256: createHash('sha256').update('sound').digest('hex'),
      contentType: 'audio/mpeg',
    });
    await download(local('/gzip'));
    expect(readFileSync(path, 'utf8')).toBe('sound');
  });

  it('may follow three redirects, not four', async () => {
    expect((await download(local('/one'))).sizeBytes).toBe(5);
    expect(await refusal(local('/zero'))).toBe(REFUSED);
    expect(await refusal(local('/loop'))).toBe(REFUSED);
  });

  it('is requested with a fixed set of headers, on every hop', async () => {
    server.requests.length = 0;
    await download(local('/one'));
    expect(server.requests).toHaveLength(4);
    for (const request of server.requests) {
      expect(Object.keys(request.headers).sort()).toEqual([
        'accept',
        'accept-encoding',
        'connection',
        'host',
        'user-agent',
      ]);
    }
  });

  it('may be on a configured host, whose name is resolved once and whose checked address is used', async () => {
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return ['127.0.0.1'];
    };
    expect((await download(`http://files.example.com:${server.port}/good`, { resolve })).sizeBytes).toBe(5);
    expect(asked).toBe(1);
  });
});

describe('refusals with the same message', () => {
  it('cover every spelling of an internal address, without a packet to it', async () => {
    canary.requests.length = 0;
    const ports = [canary.port, canary6?.port ?? canary.port];
    const hosts = [...LOOPBACK_HOSTS, ...INTERNAL_HOSTS];
    const urls = [
      ...hosts.flatMap((host) => [
        `http://${host}/good`,
        `https://${host}/good`,
        ...ports.map((port) => `http://${host}:${port}/good`),
      ]),
      ...LOOPBACK_URLS.flatMap((url) => ports.map((port) => url.replace('{port}', String(port)))),
      ...OTHER_SCHEMES,
    ];
    expect(urls.length).toBeGreaterThan(250);
    for (const url of urls) expect(await refusal(url), url).toBe(REFUSED);
    expect(canary.requests).toEqual([]);
    expect(canary6?.requests ?? []).toEqual([]);
  });

  it('cover a name that resolves to an internal address, also among others, also in the second answer', async () => {
    for (const answer of BAD_ANSWERS) {
      expect(await refusal('http://rebound.example.com/good', { resolve: answers(answer) }), answer.join()).toBe(
        REFUSED,
      );
    }
    // The first hop is allowed by name. A separate check of the redirect's name would see a harmless address.
    const to = encodeURIComponent('http://rebound.example.com/good');
    const resolve = answers(['127.0.0.1'], ['10.0.0.7']);
    expect(await refusal(`http://files.example.com:${server.port}/redirect?status=302&to=${to}`, { resolve })).toBe(
      REFUSED,
    );
    expect(canary.requests).toEqual([]);
  });

  it('cover a redirect to an internal address, by any status and in any spelling', async () => {
    const targets = [
      ...LOOPBACK_HOSTS.map((host) => `http://${host}:${canary.port}/good`),
      ...INTERNAL_HOSTS.map((host) => `http://${host}/good`),
      ...['\t', '', '//', '\\\\'].map((lead) => `${lead || 'http://'}127.0.0.1:${canary.port}/good`),
      ...['file:///etc/passwd', 'ftp://example.com/', 'data:,x', 'gopher://127.0.0.1/'],
    ];
    for (const [index, target] of targets.entries()) {
      const status = [301, 302, 303, 307, 308][index % 5];
      const url = local(`/redirect?status=${status}&to=${encodeURIComponent(target)}`);
      // A value that a header cannot carry is a server's error, and refused as well.
      expect(await refusal(url), target).toBe(REFUSED);
    }
    expect(canary.requests).toEqual([]);
  });

  it('cover ports other than 80 and 443, except on hosts configured with a port', async () => {
    for (const port of [22, 25, 6379, 5432, 8080, 65_535, 0]) {
      expect(await refusal(`http://example.com:${port}/`, { resolve: answers(['8.8.8.8']) }), String(port)).toBe(
        REFUSED,
      );
    }
    expect(await refusal(`http://127.0.0.1:${canary.port}/good`)).toBe(REFUSED);
    expect(await refusal(`http://localhost:${server.port}/good`)).toBe(REFUSED);
  });

  it('cover servers that answer badly or not at all', async () => {
    const bad = [
      '/short',
      '/reset',
      '/headers',
      '/many-headers',
      '/garbage',
      '/not-found',
      '/error',
      '/no-content',
      '/partial',
      '/no-location',
      '/bad-gzip',
      '/odd-encoding',
    ];
    for (const pathname of bad) expect(await refusal(local(pathname)), pathname).toBe(REFUSED);
    expect(await refusal(local('/silent'), {}, 600)).toBe(REFUSED);
    expect(await refusal(local('/silent-after-head'), {}, 600)).toBe(REFUSED);
    const nobody = `127.0.0.1:${canary.port - 1}`;
    expect(await refusal(`http://${nobody}/`, { allowPrivateHosts: [nobody] })).toBe(REFUSED);
  });

  it('cover a name that is not resolved, in bounded time', async () => {
    const never = () => new Promise<string[]>(() => {});
    expect(await refusal('http://silence.example.com/', { resolve: never }, 800)).toBe(REFUSED);
  });
});

describe('an oversized body', () => {
  it('is refused, announced or not, compressed or not, and its connection is closed', async () => {
    for (const pathname of ['/announced', '/endless', '/bomb']) {
      expect(await refusal(local(pathname), {}, 100_000), pathname).toBe(
        'payload_too_large: The source is larger than 25 MB.',
      );
    }
    await expect.poll(() => server.openSockets()).toBe(0);
  });

  it('uses little memory', async () => {
    const before = process.memoryUsage().rss;
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        open()
          .download(local('/endless'), {
            path: join(folder, `part-${index}`),
            maxBytes: CAP,
            timeoutMs: 100_000,
          })
          .catch(() => {}),
      ),
    );
    expect((process.memoryUsage().rss - before) / 8 / 1e6).toBeLessThan(60);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is cut off when it arrives byte by byte', async () => {
    // The overall deadline is far beyond that of the test.
    expect(await refusal(local('/slow'), {}, 3_600_000)).toBe(REFUSED);
  });
});

describe('a download', () => {
  it('is aborted with the reason of the abort, and leaves no file', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('stop')), 200);
    const running = open().download(local('/silent-after-head'), {
      path,
      maxBytes: CAP,
      timeoutMs: 60_000,
      signal: controller.signal,
    });
    await expect(running).rejects.toThrow('stop');
    expect(existsSync(path)).toBe(false);
  });

  it('reports a failure after a pause, so that its timing reveals nothing', async () => {
    const guarded = createGuardedFetch({ allowPrivateHosts: [], failureFloorMs: 100 });
    const startedAt = performance.now();
    await guarded.download('http://127.0.0.1/', { path, maxBytes: CAP, timeoutMs: 60_000 }).catch(() => {});
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(99);
  });

  it('logs the reason without the URL', async () => {
    const failure = await download('http://10.1.2.3/path?token=secret').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FareboxError);
    expect((failure as FareboxError).internal).toContain('not a public address');
    expect((failure as FareboxError).internal).not.toContain('secret');
  });
});

describe('over TLS', () => {
  const tls = (name: string) => readFileSync(fileURLToPath(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url)));
  let secure: Server;
  let options: Partial<GuardedFetchOptions>;
  let origin: string;

  beforeAll(async () => {
    secure = createServer({ key: tls('key'), cert: tls('certificate') }, (request, response) => {
      const to = new URL(request.url ?? '/', 'http://x').searchParams.get('to');
      if (to) response.writeHead(302, { location: to }).end();
      else response.end('sound');
    });
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    const { port } = secure.address() as AddressInfo;
    origin = `https://files.example.com:${port}`;
    const hosts = [`files.example.com:${port}`, `wrong.example.org:${port}`, `127.0.0.1:${server.port}`];
    options = {
      allowPrivateHosts: hosts,
      resolve: answers(['127.0.0.1']),
      certificateAuthorities: String(tls('certificate')),
    };
  });
  afterAll(() => secure.close());

  it('checks the certificate against the name in the URL, not against the address', async () => {
    expect((await download(`${origin}/`, options)).sizeBytes).toBe(5);
    expect(await refusal(origin.replace('files.example.com', 'wrong.example.org'), options)).toBe(REFUSED);
    const { certificateAuthorities: _, ...unknownAuthority } = options;
    expect(await refusal(`${origin}/`, unknownAuthority)).toBe(REFUSED);
  });

  it('refuses a redirect from https to http', async () => {
    expect(await refusal(`${origin}/?to=${encodeURIComponent(local('/good'))}`, options)).toBe(REFUSED);
  });
});

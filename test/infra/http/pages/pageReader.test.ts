import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorStatus } from '../../../../api/http/errors.ts';
import { createPageReader } from '../../../../infra/http/pages/pageReader.ts';
import { BEHAVIOURS, type Behaviour, type HostileServer, hostileServer } from '../hostileServer.ts';
import { BAD_ANSWERS, INTERNAL_HOSTS, LOOPBACK_HOSTS, LOOPBACK_URLS, OTHER_SCHEMES } from '../vectors.ts';
import { article, openReaderWorld, page, type ReaderWorld } from './readerWorld.ts';

const WORDS = 'Some words that make a paragraph worth reading. '.repeat(8);
const HELLO = article(`<h1>Hello</h1><p>${WORDS}</p>`);

function packed(encoding: string, body: Buffer): Behaviour {
  return (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': encoding }).end(body);
}

/** A page of a gigabyte, as fast as the reader takes it. */
const gigabyte: Behaviour = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  const piece = Buffer.alloc(1024 * 1024, '<p>x');
  let left = 1024;
  const more = () => {
    while (left > 0 && !response.destroyed && response.write(piece)) left -= 1;
    if (left <= 0) response.end();
  };
  response.on('drain', more);
  more();
};

const PAGES: Record<string, Behaviour> = {
  ...BEHAVIOURS,
  '/hello': page(HELLO),
  '/packed-gzip': packed('gzip', gzipSync(HELLO)),
  '/packed-br': packed('br', brotliCompressSync(HELLO)),
  '/packed-deflate': packed('deflate', deflateSync(HELLO)),
  '/bomb-br': packed('br', brotliCompressSync(Buffer.alloc(200_000_000))),
  '/large': page(article(`<p>${'x'.repeat(11_000_000)}</p>`)),
  '/gigabyte': gigabyte,
  '/lying-short': (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': '100000' });
    response.write(HELLO, () => response.destroy());
  },
  '/text': page('just\n  text\n', 'text/plain; charset=utf-8'),
  '/json': page('{"a": "```"}', 'application/json'),
  '/ld-json': page('{}', 'application/ld+json'),
  '/feed': page('<rss></rss>', 'application/rss+xml'),
  '/pdf': page('%PDF-1.7\n%âãÏÓ', 'application/pdf'),
  '/lying-pdf': page('%PDF-1.7 ...', 'text/html'),
  '/image': page(Buffer.from('89504e470d0a1a0a0000', 'hex'), 'image/png'),
  '/binary-text': page(Buffer.from([0x66, 0, 1, 2, 3]), 'text/plain'),
  '/untyped': (_, response) => response.writeHead(200).end(HELLO),
  '/untyped-text': (_, response) => response.writeHead(200).end('plain words'),
  '/empty': page(''),
  '/blank': page(article('  <script>document.write("words")</script> ')),
  '/refresh': page('<html><head><meta http-equiv="refresh" content="0; url=http://127.0.0.1/"></head></html>'),
  '/to-page': (_, response) => response.writeHead(302, { location: '/hello?moved=1#part' }).end(),
  '/to-x': (_, response) => response.writeHead(302, { location: 'https://x.com/a' }).end(),
};

const NOT_FETCHED = 'page_failed: The page could not be fetched.';
const ABSOLUTE_ONLY = 'invalid_source: The url must be an absolute http or https URL without credentials.';

let world: ReaderWorld;
let canary: HostileServer;

beforeAll(async () => {
  world = await openReaderWorld(PAGES);
  canary = await hostileServer(BEHAVIOURS);
});
beforeEach(() => {
  world.server.requests.length = 0;
  canary.requests.length = 0;
});
afterAll(() => Promise.all([world.close(), canary.close()]));

describe('a page', () => {
  it('is returned as markdown, with its title and final URL', async () => {
    expect(await world.read(world.at('/hello'))).toEqual({
      url: world.at('/hello'),
      title: 'A page',
      content: `# A page\n\n## Hello\n\n${WORDS.trim()}`,
    });
    expect((await world.read(world.at('/to-page'))).url).toBe(world.at('/hello?moved=1'));
  });

  it.each(['gzip', 'br', 'deflate'])('may be compressed with %s', async (encoding) => {
    expect((await world.read(world.at(`/packed-${encoding}`))).content).toContain(WORDS.trim());
  });

  it('is requested with an honest user agent and a fixed set of headers, after its robots.txt', async () => {
    await world.read(world.at('/one'), {}).catch(() => undefined);
    const asked = world.server.requests;
    expect(asked.map((request) => request.url)).toEqual(['/robots.txt', '/one', '/two', '/three', '/good']);
    for (const request of asked) {
      expect(request.headers['user-agent']).toBe('Farebox');
      expect(Object.keys(request.headers).sort()).toEqual([
        'accept',
        'accept-encoding',
        'connection',
        'host',
        'user-agent',
      ]);
    }
  });

  it('of text or data is returned unchanged, data in a fence that it cannot close', async () => {
    expect((await world.read(world.at('/text'))).content).toBe('just\n  text\n');
    expect((await world.read(world.at('/json'))).content).toBe('````json\n{"a": "```"}\n````');
    expect((await world.read(world.at('/ld-json'))).content).toBe('```json\n{}\n```');
    expect((await world.read(world.at('/feed'))).content).toBe('```xml\n<rss></rss>\n```');
    expect((await world.read(world.at('/untyped'))).content).toContain('# A page');
    expect((await world.read(world.at('/untyped-text'))).content).toBe('plain words');
  });

  it('that is not text is refused by its type', async () => {
    const refused = (type: string) => `invalid_source: The url leads to ${type}, not to a page of text.`;
    expect(await world.outcome(world.at('/pdf'))).toBe(refused('application/pdf'));
    expect(await world.outcome(world.at('/lying-pdf'))).toBe(refused('text/html'));
    expect(await world.outcome(world.at('/image'))).toBe(refused('image/png'));
    expect(await world.outcome(world.at('/binary-text'))).toBe(refused('text/plain'));
  });

  it('without text but for scripts is empty, and no refresh is followed', async () => {
    for (const path of ['/empty', '/blank', '/refresh']) {
      expect(await world.outcome(world.at(path)), path).toBe('page_failed: The page is empty.');
    }
  });

  it('with another status than 200 is not read', async () => {
    for (const [path, status] of [
      ['/not-found', 404],
      ['/error', 500],
      ['/no-content', 204],
      ['/partial', 206],
      ['/no-location', 302],
    ] as const) {
      const said = `page_failed: The page could not be read: it answered with status ${status}.`;
      expect(await world.outcome(world.at(path))).toBe(said);
    }
  });
});

describe('refusals by the URL alone, with 400', () => {
  it('cover internal addresses in every spelling without a connection, other schemes and ports, and credentials', async () => {
    const urls = [
      ...[...LOOPBACK_HOSTS, ...INTERNAL_HOSTS].flatMap((host) => [
        `http://${host}/`,
        `https://${host}/`,
        `http://${host}:${canary.port}/good`,
      ]),
      // One of them really is a URL of example.com.
      ...LOOPBACK_URLS.filter((url) => !url.includes('\\@127')).map((url) =>
        url.replace('{port}', String(canary.port)),
      ),
      ...OTHER_SCHEMES,
      'https://user@example.com/',
      'https://user:password@example.com/',
      'http://example.com:22/',
    ];
    expect(urls.length).toBeGreaterThan(200);
    for (const url of urls) {
      expect([NOT_FETCHED, ABSOLUTE_ONLY], url).toContain(await world.outcome(url));
    }
    expect(canary.requests).toEqual([]);
    expect(errorStatus('invalid_source')).toBe(400);
  });

  it('cover sites known to block automated readers', async () => {
    const hosts = ['x.com', 'www.x.com', 'mobile.x.com', 'twitter.com', 'www.twitter.com', 'mobile.twitter.com'];
    const more = ['reddit.com', 'www.reddit.com', 'old.reddit.com', 'new.reddit.com', 'X.COM', 'reddit.com.'];
    for (const host of [...hosts, ...more]) {
      const said = await world.outcome(`https://${host}/a/b?c=d`);
      expect(said).toMatch(/^blocked_source: .* does not allow automated access\.$/);
    }
    expect(await world.outcome(world.at('/to-x'))).toBe('blocked_source: x.com does not allow automated access.');
    expect(errorStatus('blocked_source')).toBe(400);
  });
});

describe('failures with one message and 400', () => {
  it('cover a public name that resolves to an internal address, also among others', async () => {
    for (const answer of BAD_ANSWERS) {
      const said = await world.outcome('http://rebound.example.com/', { resolve: async () => answer });
      expect(said, answer.join()).toBe(NOT_FETCHED);
    }
    expect(errorStatus('page_failed')).toBe(400);
  });

  it('cover a redirect to an internal address, by any status and in any spelling', async () => {
    const targets = [
      ...LOOPBACK_HOSTS.map((host) => `http://${host}:${canary.port}/good`),
      ...INTERNAL_HOSTS.map((host) => `http://${host}/good`),
      ...['file:///etc/passwd', 'data:text/html,x', 'javascript:alert(1)', 'http://user@example.com/'],
    ];
    for (const [index, target] of targets.entries()) {
      const status = [301, 302, 303, 307, 308][index % 5];
      const url = world.at(`/redirect?status=${status}&to=${encodeURIComponent(target)}`);
      const said = await world.outcome(url);
      // A value that a header cannot carry is the site's own error.
      expect([NOT_FETCHED, 'page_failed: The page could not be read: it answered with status 500.']).toContain(said);
    }
    expect(canary.requests).toEqual([]);
  });

  it('cover sites that answer badly, not at all, or redirect too often', async () => {
    const bad = ['/short', '/lying-short', '/reset', '/headers', '/garbage', '/bad-gzip', '/odd-encoding'];
    for (const path of [...bad, '/zero', '/loop']) expect(await world.outcome(world.at(path)), path).toBe(NOT_FETCHED);
    const patience = { fetchTimeoutMs: 500 };
    expect(await world.outcome(world.at('/silent'), patience)).toBe(NOT_FETCHED);
    expect(await world.outcome(world.at('/silent-after-head'), patience)).toBe(NOT_FETCHED);
    const nobody = `127.0.0.1:${canary.port - 1}`;
    expect(await world.outcome(`http://${nobody}/`, { allowPrivateHosts: [nobody] })).toBe(NOT_FETCHED);
    expect(await world.outcome(world.at('/hello').replace('http:', 'https:'))).toBe(NOT_FETCHED);
    const resolve = () => Promise.reject(new Error('no such name'));
    expect(await world.outcome('http://missing.example.com/', { resolve })).toBe(NOT_FETCHED);
  });

  it('cover a page that arrives byte by byte, after seconds and not at the deadline', async () => {
    // The overall deadline is far beyond that of the test.
    expect(await world.outcome(world.at('/slow'), { fetchTimeoutMs: 3_600_000 })).toBe(NOT_FETCHED);
  });
});

describe('an oversized page', () => {
  it('is refused, announced or not, compressed or not, its connection closed, and memory bounded', async () => {
    const before = process.memoryUsage().rss;
    for (const path of ['/large', '/gigabyte', '/announced', '/endless', '/bomb', '/bomb-br']) {
      expect(await world.outcome(world.at(path)), path).toBe('page_failed: The page is larger than 10 MB.');
    }
    await expect.poll(() => world.server.openSockets()).toBe(0);
    // The buffers of the server are part of this process.
    expect((process.memoryUsage().rss - before) / 1e6).toBeLessThan(250);
  });
});

it('is aborted with the reason of the signal while it is fetched', async () => {
  const reader = createPageReader({ allowPrivateHosts: [`127.0.0.1:${world.server.port}`] });
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('stop')), 100);
  await expect(reader.read(world.at('/silent'), { signal: controller.signal })).rejects.toThrow('stop');
  reader.close();
});

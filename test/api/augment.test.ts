/** Pages, searches and documents for a cent each, charged when they are delivered. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPageReader } from '../../infra/http/pages/pageReader.ts';
import { grant } from '../../infra/postgres/ledger.ts';
import { startApi, type TestApi } from './startApi.ts';

const PAGE = `<html><head><title>Fares</title></head><body><article><h1>Fares</h1><p>${'A ride costs a coin. '.repeat(20)}</p>
<p>See the <a href="/rules">rules</a>.</p></article></body></html>`;
const DOCUMENT = readFileSync(new URL('../fixtures/documents/Numbering.docx', import.meta.url));

/** Host that is allowed, at a port where no process listens. */
const NOBODY = '127.0.0.1:9';

/** Answers of the site by path; every other path has the page. */
const SITE: Record<string, (response: ServerResponse) => void> = {
  '/robots.txt': (response) => response.end('User-agent: *\nDisallow: /closed'),
  '/empty': (response) => response.end('<html></html>'),
  '/missing': (response) => response.writeHead(404).end(PAGE),
  '/broken': (response) => response.writeHead(503).end(PAGE),
  '/large': (response) => response.writeHead(200, { 'content-length': 11_000_000 }).end('x'),
  '/picture': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end('\x89PNG\r\n\x1a\n'),
  '/to-inside': (response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
  '/to-metadata': (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
  '/to-nobody': (response) => response.writeHead(302, { location: `http://${NOBODY}/` }).end(),
  '/cut': (response) => response.socket?.destroy(),
};

let api: TestApi;
let web: Server;
let key: string;
let accountId: string;

beforeAll(async () => {
  web = createServer((request, response) => {
    const answer = SITE[request.url ?? ''] ?? ((reply) => reply.end(PAGE));
    response.setHeader('content-type', 'text/html');
    answer(response);
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(web.address() as AddressInfo).port}`;
  api = await startApi({ config: (config) => ({ ...config, fetch: { allowPrivateHosts: [host, NOBODY] } }) });
  ({ secret: key, accountId } = await api.newKey('INFERENCE'));
  const operationId = randomUUID();
  const credit = { operationId, accountId, currency: 'usd', amount: 10n ** 9n, notes: 'test' } as const;
  await grant(api.opened.dependencies.core.sql, credit);
  api.opened.dependencies.limits.calls.overrideOf = () => ({ requestsPerMinute: 1_000 });
});

afterAll(async () => {
  await api.stop();
  web.close();
});

const origin = () => `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  api.call(path, {
    ...{ method: 'POST', key, body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json', ...headers },
  });

async function spent(): Promise<string[]> {
  const { rows } = await api.opened.dependencies.core.sql.query(
    'select sku, amount_nano::text as amount from usage_entries where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ sku, amount }) => `${sku} ${amount}`);
}

it('returns a page as markdown with absolute links for a cent', async () => {
  const before = await spent();
  const response = await post('/augment/scrape', { url: `${origin()}/fares` });
  const body = (await response.json()) as { url: string; content: string; format: string };
  expect([response.status, body.url, body.format]).toEqual([200, `${origin()}/fares`, 'markdown']);
  expect(body.content).toContain(`[rules](${origin()}/rules)`);
  expect((await spent()).slice(before.length)).toEqual(['augment-scrape 10000000']);
});

it('returns the text of a document for a cent', async () => {
  const before = await spent();
  const form = new FormData();
  form.set('file', new Blob([DOCUMENT]), 'numbering.docx');
  const response = await api.call('/augment/text-parser', { method: 'POST', key, body: form });
  const body = (await response.json()) as { text: string; tokens: number };
  expect([response.status, body.tokens]).toEqual([200, Math.ceil(body.text.length / 3.2)]);
  expect((await spent()).slice(before.length)).toEqual(['augment-text-parser 10000000']);
});

it('fetches and charges nothing in a dry run', async () => {
  const before = await spent();
  const response = await post('/augment/scrape', { url: origin() }, { 'x-service-dry-run': 'true' });
  expect(await response.json()).toEqual({ object: 'dry_run', cost: { usd: 0.01, diem: 0.01 } });
  expect(await spent()).toEqual(before);
});

describe('a page that cannot be scraped gets 400, is not charged,', () => {
  async function expectRefused(url: string, error: string): Promise<void> {
    const before = await spent();
    const response = await post('/augment/scrape', { url });
    expect([response.status, await response.json()]).toEqual([400, { error }]);
    expect(await spent()).toEqual(before);
  }

  it.each([
    ['an address inside the network', () => 'http://10.0.0.1/'],
    ['a metadata address', () => 'http://169.254.169.254/latest'],
    ['a name inside the network', () => 'http://localhost/'],
    ['a redirect to an address inside the network', () => `${origin()}/to-inside`],
    ['a redirect to a metadata address', () => `${origin()}/to-metadata`],
    ['a refused connection', () => `http://${NOBODY}/`],
    ['a redirect to a refused connection', () => `${origin()}/to-nobody`],
    ['a failed TLS handshake', () => `${origin().replace('http:', 'https:')}/fares`],
    ['a connection that breaks before an answer', () => `${origin()}/cut`],
  ])('and has one message for %s', async (_name, url) => {
    await expectRefused(url(), 'The page could not be fetched.');
  });

  it.each([
    ['a missing page', '/missing', 'The page could not be read: it answered with status 404.'],
    ['a failing site', '/broken', 'The page could not be read: it answered with status 503.'],
    ['robots.txt', '/closed', 'The site does not allow automated access. Its robots.txt excludes this page.'],
    ['a large page', '/large', 'The page is larger than 10 MB.'],
    ['a page without text', '/empty', 'The page is empty.'],
    ['a picture', '/picture', 'The url leads to image/png, not to a page of text.'],
  ])('and has the reason where the site answered: %s', async (_name, path, error) => {
    await expectRefused(`${origin()}${path}`, error);
  });
});

describe('requests without a charge', () => {
  it.each([
    ['a site that wants no readers', 'https://www.reddit.com/r/node', 400],
    ['a credential in the url', 'https://user:pass@example.com/', 400],
    ['another scheme', 'ftp://example.com/', 400],
  ])('%s', async (_name, url, status) => {
    const before = await spent();
    const response = await post('/augment/scrape', { url });
    expect(response.status).toBe(status);
    expect(await spent()).toEqual(before);
  });

  it('a page while too many pages are being read, which gets a 503 that says so', async () => {
    const before = await spent();
    const { dependencies } = api.opened;
    const { pages } = dependencies.providers;
    const full = createPageReader({ allowPrivateHosts: [], turns: { atOnce: 0, maxWaiting: 0 } });
    dependencies.providers.pages = full;
    try {
      const response = await post('/augment/scrape', { url: 'https://example.com/' });
      expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
        503,
        '5',
        { error: 'Too many pages are being read at the moment; try again in 5 seconds' },
      ]);
    } finally {
      dependencies.providers.pages = pages;
      full.close();
    }
    expect(await spent()).toEqual(before);
  });

  it('a search without a configured engine', async () => {
    const before = await spent();
    const response = await post('/augment/search', { query: 'fares' });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'Search by brave is not configured on this service.' },
    ]);
    expect(await spent()).toEqual(before);
  });
});

/** Callers without funds are refused on every paid route before their body is read or any work is done. */
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../../api/http/route.ts';
import { ROUTES } from '../../../api/routes.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { JFK } from '../../engines/media/recordings.ts';
import { startWalletWorld, type WalletWorld } from '../wallets/walletWorld.ts';
import { firstBytes, pathOf } from './firstBytes.ts';

const PAID = ROUTES.filter(({ access }) => access === 'buyer');
const BY_PATH = PAID.map((route): [string, Route] => [`${route.method} ${route.path}`, route]);
const SOME = BY_PATH.filter(([, { path }]) =>
  ['/chat/completions', '/image/edit', '/audio/transcriptions', '/video/queue'].includes(path),
);
/** Routes without costs. Each new route belongs into this list or charges. */
const COST_NOTHING = [
  ...['POST /audio/quote', 'POST /audio/voice-changer/quote', 'POST /video/quote', 'POST /x402/top-up'],
  ...['POST /audio/complete', 'POST /audio/voice-changer/complete', 'POST /video/complete'],
  ...['POST /audio/retrieve', 'POST /audio/voice-changer/retrieve', 'POST /video/retrieve'],
  ...['DELETE /video/downloads/{token}', 'POST /video/transcriptions', 'POST /webhooks/secret/rotate'],
  ...['POST /jobs/{queue_id}/cancel', 'POST /jobs/{queue_id}/deliveries/{id}/resend'],
  ...['DELETE /api_keys', 'PATCH /api_keys', 'POST /api_keys', 'POST /api_keys/{id}/rotate'],
  'POST /api_keys/generate_web3_key',
];
const INSUFFICIENT = 'Insufficient USD or Diem balance to complete request.';

let world: WalletWorld;
let source: Server;
let fetched = 0;
let sourceUrl: string;
/** Requests of this process to servers other than its own API, and child processes and threads that it started. */
const begun = { requests: 0, workers: 0 };
const countRequest = (message: unknown) => {
  const { request } = message as { request: { origin: string | URL } };
  if (new URL(request.origin).port !== String(world.api.port)) begun.requests += 1;
};
const countWorker = () => {
  begun.workers += 1;
};
const WORKERS = ['child_process', 'worker_threads'];

beforeAll(async () => {
  source = createServer((_request, response) => {
    fetched += 1;
    response.end('a source');
  });
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
  const { port } = source.address() as AddressInfo;
  sourceUrl = `http://127.0.0.1:${port}/source`;
  world = await startWalletWorld((config) => ({
    ...config,
    fetch: { allowPrivateHosts: [`127.0.0.1:${port}`] },
    search: { kind: 'searxng', baseUrl: sourceUrl, allowPrivateNetwork: true },
    rpc: { networks: { 'ethereum-mainnet': { endpoints: [sourceUrl], allowPrivateNetwork: true } } },
  }));
  // The first worker would make the folder. Its change time then shows every new file.
  await mkdir(world.api.opened.dependencies.providers.folders.root, { recursive: true });
  subscribe('undici:request:create', countRequest);
  for (const name of WORKERS) subscribe(name, countWorker);
});
afterAll(async () => {
  unsubscribe('undici:request:create', countRequest);
  for (const name of WORKERS) unsubscribe(name, countWorker);
  await world.close();
  source.close();
});

const newKey = async () => (await world.api.newKey('ADMIN')).secret;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Returns a key of an account with 1 USD whose parent key may spend nothing. */
async function childOfEmptyParent(): Promise<string> {
  const { api } = world;
  const parent = await api.newKey('INFERENCE', { limits: { usd: 0n, diem: 0n } });
  const { sql } = api.opened.dependencies.core;
  const credit = { operationId: randomUUID(), accountId: parent.accountId, amount: 10n ** 9n, notes: 'test' };
  await grant(sql, { ...credit, currency: 'usd' });
  const child = await api.newKey('INFERENCE', { accountId: parent.accountId, parentId: parent.keyId });
  return child.secret;
}

async function traces() {
  const {
    core: { sql },
    jobs: { storage },
    providers: { folders },
  } = world.api.opened.dependencies;
  const { objects } = await storage.list('');
  const { rows } = await sql.query(
    'select (select count(*) from operations)::integer as operations, (select count(*) from jobs)::integer as jobs',
  );
  const { mtimeNs } = await stat(folders.root, { bigint: true });
  return {
    ...{ ...rows[0], ...begun, fetched },
    files: [await readdir(folders.root), mtimeNs],
    objects: objects.map(({ key }) => key),
    upstream: world.stub.received.length + world.second.received.length,
  };
}

/** Valid orders, each with something that would be fetched, decoded or read. */
const ORDERS: Record<string, () => object> = {
  '/chat/completions': () => ({ model: 'gpt-stub', messages: [{ role: 'user', content: [picture()] }] }),
  '/responses': () => ({ model: 'gpt-stub', input: 'Hello' }),
  '/embeddings': () => ({ model: 'local-lexical-embedding', input: 'Hello' }),
  '/augment/scrape': () => ({ url: sourceUrl }),
  '/augment/search': () => ({ query: 'fares' }),
  '/augment/text-parser': () => DOCUMENT,
  '/crypto/rpc/{network}': () => ({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
  '/image/edit': () => ({ model: 'local-edit', prompt: 'flip it', image: sourceUrl }),
  '/image/multi-edit': () => ({ modelId: 'local-edit', prompt: 'flip it', images: [sourceUrl] }),
  '/image/background-remove': () => ({ model: 'local-cutout', image_url: sourceUrl }),
  '/image/upscale': () => ({ model: 'local-upscale-image', image: sourceUrl }),
  '/audio/voice-changer/queue': () => ({ model: 'local-voice-changer', audio_url: sourceUrl }),
  '/audio/transcriptions': () => RECORDING,
  '/video/queue': () => ({ model: 'local-upscale', video_url: sourceUrl }),
};
const picture = () => ({ type: 'image_url', image_url: { url: sourceUrl } });

function form(file: Blob, fields: Record<string, string> = {}): FormData {
  const filled = new FormData();
  for (const [name, value] of Object.entries(fields)) filled.set(name, value);
  filled.set('file', file, 'file');
  return filled;
}
const DOCUMENT = form(new Blob([readFileSync(new URL('../../fixtures/documents/Numbering.docx', import.meta.url))]));
const RECORDING = form(new Blob([readFileSync(JFK)]), { model: 'local-transcribe' });

function orderOf({ path, body }: Route): { body: string | FormData; headers: Record<string, string> } {
  const order = ORDERS[path]?.() ?? {};
  if (order instanceof FormData) return { body: order, headers: {} };
  if (body?.json || body?.raw) {
    return { body: JSON.stringify(order), headers: { 'content-type': 'application/json' } };
  }
  return { body: form(new Blob(['RIFF'])), headers: {} };
}

it('every acting route either requires funds or costs nothing', () => {
  const others = ROUTES.filter(({ access, method }) => access !== 'buyer' && method !== 'GET');
  expect(others.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([...COST_NOTHING].sort());
});

it('the measurement notices requests, files, child processes and threads', async () => {
  const before = await traces();
  const body = JSON.stringify({ model: 'local-edit', prompt: 'flip it', image: sourceUrl });
  const headers = { 'content-type': 'application/json' };
  await world.api.call('/image/edit', { method: 'POST', key: world.key, body, headers });
  const input = JSON.stringify({ model: 'local-lexical-embedding', input: 'a' });
  await world.api.call('/embeddings', { method: 'POST', key: world.key, body: input, headers });
  const after = await traces();
  expect(after.requests).toBeGreaterThan(before.requests);
  expect(after.fetched).toBeGreaterThan(before.fetched);
  expect(after.files[1]).not.toBe(before.files[1]);
  expect(after.workers).toBeGreaterThan(before.workers);
});

describe.each(BY_PATH)('%s without funds', (_name, route) => {
  it('answers 402 while the body is still being sent', async () => {
    const first = await firstBytes(world.api, route, { headers: bearer(await newKey()) });
    expect(first).toMatch(/^HTTP\/1\.1 402 /);
    expect(first).toContain(INSUFFICIENT);
  });

  it('answers 402 in place of 100 Continue', async () => {
    const headers = bearer(await newKey());
    expect(await firstBytes(world.api, route, { headers, expectsContinue: true })).toMatch(/^HTTP\/1\.1 402 /);
  });

  it('leaves no request at an upstream, no file, object, child, thread, job or operation', async () => {
    const key = await newKey();
    const before = await traces();
    const response = await world.api.call(pathOf(route), {
      ...{ method: route.method, key, ...orderOf(route) },
    });
    expect(response.status).toBe(402);
    expect(await response.json()).toEqual({ error: INSUFFICIENT });
    expect(await traces()).toEqual(before);
  });
});

describe.each(SOME)('%s', (_name, route) => {
  it('answers 402 to a child key whose parent may spend nothing more', async () => {
    const first = await firstBytes(world.api, route, { headers: bearer(await childOfEmptyParent()) });
    expect(first).toMatch(/^HTTP\/1\.1 402 /);
    expect(first).toContain('spend limit exceeded');
  });

  it('answers 402 with the payment offers to a wallet', async () => {
    const wallet = await world.wallet(99_999_999n);
    const headers = { 'sign-in-with-x': await wallet.header() };
    const first = await firstBytes(world.api, route, { headers });
    expect(first).toMatch(/^HTTP\/1\.1 402 /);
    expect(first.toLowerCase()).toContain('payment-required: ');
  });

  it('requests the body of a caller with funds', async () => {
    const headers = bearer(world.key);
    expect(await firstBytes(world.api, route, { headers, expectsContinue: true })).toMatch(/^HTTP\/1\.1 100 /);
  });
});

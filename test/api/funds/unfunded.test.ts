/** Callers without funds: refused on every paid route before their body is read and before any work is done for them. */
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../../api/route.ts';
import { ROUTES } from '../../../api/routes.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { startWalletWorld, type WalletWorld } from '../wallets/walletWorld.ts';
import { contentTypeOf, firstBytes, pathOf } from './firstBytes.ts';

const PAID = ROUTES.filter(({ access }) => access === 'buyer');
const BY_PATH = PAID.map((route): [string, Route] => [`${route.method} ${route.path}`, route]);
const SOME = BY_PATH.filter(([, { path }]) =>
  ['/chat/completions', '/image/edit', '/audio/transcriptions', '/video/queue'].includes(path),
);
const INSUFFICIENT = 'Insufficient USD or Diem balance to complete request.';

let world: WalletWorld;
let source: Server;
let fetched = 0;
let sourceUrl: string;
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
  }));
});
afterAll(async () => {
  await world.close();
  source.close();
});

const newKey = async () => (await world.api.newKey('ADMIN')).secret;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** A key of an account with 1 USD whose parent may spend nothing. */
async function childOfEmptyParent(): Promise<string> {
  const { api } = world;
  const parent = await api.newKey('INFERENCE', { limits: { usd: 0n, diem: 0n } });
  const { sql } = api.opened.dependencies;
  const credit = { operationId: randomUUID(), accountId: parent.accountId, amount: 10n ** 9n, notes: 'test' };
  await grant(sql, { ...credit, currency: 'usd' });
  const child = await api.newKey('INFERENCE', { accountId: parent.accountId, parentId: parent.keyId });
  return child.secret;
}

async function traces() {
  const { folders, storage, sql } = world.api.opened.dependencies;
  const { objects } = await storage.list('');
  const { rows } = await sql.query('select count(*)::integer as count from operations');
  return {
    files: await readdir(folders.root).catch(() => []),
    objects: objects.length,
    operations: rows[0]?.count as number,
    children: process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length,
    upstream: world.stub.received.length + world.second.received.length,
    fetched,
  };
}

/** As much of a body as a route takes, with a source that would be fetched. */
function bodyOf(route: Route): string {
  const medium = { type: 'image_url', image_url: { url: sourceUrl } };
  const fields = {
    ...{ image: sourceUrl, images: [sourceUrl], url: sourceUrl, audio_url: sourceUrl, video_url: sourceUrl },
    ...{
      prompt: 'A prompt that is long enough',
      query: 'a query',
      messages: [{ role: 'user', content: [medium] }],
    },
    ...{ model: 'gpt-stub', jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
  };
  if (route.body?.json || route.body?.raw) return JSON.stringify(fields);
  const part = 'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF';
  return `--x\r\n${part}\r\n--x--\r\n`;
}

describe.each(BY_PATH)('%s without funds', (_name, route) => {
  it('answers 402 while the body is still being sent', async () => {
    const first = await firstBytes(world.api, route, { headers: bearer(await newKey()) });
    expect(first).toMatch(/^HTTP\/1\.1 402 /);
    expect(first).toContain(INSUFFICIENT);
  });

  it('answers 402 in place of 100 Continue', async () => {
    const headers = bearer(await newKey());
    expect(await firstBytes(world.api, route, { headers, expectsContinue: true })).toMatch(
      /^HTTP\/1\.1 402 /,
    );
  });

  it('leaves no request at an upstream, no file, no object, no child process and no operation', async () => {
    const key = await newKey();
    const before = await traces();
    const response = await world.api.call(pathOf(route), {
      ...{ method: route.method, key, body: bodyOf(route) },
      headers: { 'content-type': contentTypeOf(route) },
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

  it('answers 402 with the way to top up to a wallet', async () => {
    const wallet = await world.wallet(99_999_999n);
    const headers = { 'sign-in-with-x': await wallet.header() };
    const first = await firstBytes(world.api, route, { headers });
    expect(first).toMatch(/^HTTP\/1\.1 402 /);
    expect(first.toLowerCase()).toContain('payment-required: ');
  });

  it('asks a caller with funds for its body', async () => {
    const headers = bearer(world.key);
    expect(await firstBytes(world.api, route, { headers, expectsContinue: true })).toMatch(
      /^HTTP\/1\.1 100 /,
    );
  });
});

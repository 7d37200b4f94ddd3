/** Calls without a charge need no funds: dry runs, replays of paid answers, and models whose price is 0. */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../../api/http/route.ts';
import { ROUTES } from '../../../api/routes.ts';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import { GIVEN_BACK } from '../../../domain/jobs.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { SNAPSHOT } from '../../infra/postgres/ledgerWorld.ts';
import { acceptJob, PRICE } from '../jobs/jobsWorld.ts';
import { textModel } from '../text/textWorld.ts';
import { startWalletWorld, type WalletWorld } from '../wallets/walletWorld.ts';
import { firstBytes } from './firstBytes.ts';

const NOTHING = { usd: 0, diem: 0 };
const FREE = textModel({
  id: 'gpt-free',
  spec: { ...textModel({}).spec, pricing: { input: NOTHING, output: NOTHING } },
});

let world: WalletWorld;
let source: Server;
let sourceUrl: string;
let fetched = 0;
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
    characters: config.characters.slice(0, 1).map((some) => ({
      ...some,
      ...{ id: randomUUID(), slug: 'speaker', modelId: 'gpt-stub' },
    })),
    fetch: { allowPrivateHosts: [`127.0.0.1:${port}`] },
    models: [...config.models, FREE],
    modelCatalogue: createCatalogue([...config.models, FREE]),
  }));
});
afterAll(async () => {
  await world.close();
  source.close();
});

const newKey = async () => (await world.api.newKey('INFERENCE')).secret;
const DRY = { 'x-service-dry-run': 'true' };

async function ask(path: string, body: object, headers: Record<string, string> = {}, key?: string) {
  const response = await world.api.call(path, {
    ...{ method: 'POST', body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json', ...headers },
    ...(headers['sign-in-with-x'] === undefined && { key: key ?? (await newKey()) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

it('funds that only holds past their end keep are funds', async () => {
  const { secret, accountId } = await world.api.newKey('INFERENCE');
  const {
    core: { sql },
    accounts: { ledger },
  } = world.api.opened.dependencies;
  await grant(sql, {
    operationId: randomUUID(),
    accountId,
    currency: 'usd',
    amount: 1_000_000_000n,
    notes: 'test',
  });
  const held = {
    accountId,
    keyId: null,
    price: { usd: 1_000_000_000n, diem: 0n },
    ttlMs: 1,
    snapshot: SNAPSHOT,
  };
  expect(await ledger.hold({ ...held, operationId: randomUUID() })).toMatchObject({ outcome: 'held' });
  await sleep(20);
  // Not a 402: the body is read and found invalid.
  const statusNow = async () => (await ask('/augment/scrape', {}, {}, secret)).status;
  expect(await statusNow()).toBe(400);
  expect(await ledger.hold({ ...held, operationId: randomUUID(), ttlMs: 600_000 })).toMatchObject({
    outcome: 'held',
  });
  await expect.poll(statusNow).toBe(402);
});

describe('a dry run without funds', () => {
  const messages = [{ role: 'user', content: 'Hello there' }];
  it.each<[string, string, () => object]>([
    ['of chat', '/chat/completions', () => ({ model: 'gpt-stub', messages })],
    ['of a page', '/augment/scrape', () => ({ url: sourceUrl })],
    ['of a cutout', '/image/background-remove', () => ({ model: 'local-cutout', image_url: sourceUrl })],
    ['of an edit', '/image/edit', () => ({ model: 'local-edit', prompt: 'flip it', image: sourceUrl })],
  ])('%s returns the price from the body alone', async (_name, path, body) => {
    const before = fetched;
    const answer = await ask(path, body(), DRY);
    expect(answer).toMatchObject({ status: 200, body: { object: 'dry_run' } });
    expect(fetched).toBe(before);
  });

  it.each<[string, string, () => object]>([
    ['an enlarged picture', '/image/upscale', () => ({ model: 'local-upscale-image', image: sourceUrl })],
    ['a changed voice', '/audio/voice-changer/queue', () => ({ model: 'local-voice-changer', audio_url: sourceUrl })],
    [
      'chat with a picture',
      '/chat/completions',
      () => ({
        model: 'gpt-stub',
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: sourceUrl } }] }],
      }),
    ],
  ])('of %s is refused because its price depends on a medium', async (_name, path, body) => {
    const before = fetched;
    expect((await ask(path, body(), DRY)).status).toBe(402);
    expect(fetched).toBe(before);
  });

  it.each(['/audio/transcriptions', '/audio/voice-changer/queue', '/image/upscale'])(
    'of a file for %s is refused before it is sent',
    async (path) => {
      const route = ROUTES.find((each) => each.path === path) as Route;
      const headers = {
        ...DRY,
        ...{ authorization: `Bearer ${await newKey()}`, 'content-type': 'multipart/form-data; boundary=x' },
      };
      const first = await firstBytes(world.api, route, { headers, expectsContinue: true });
      expect(first).toMatch(/^HTTP\/1\.1 402 /);
    },
  );

  it('of a wallet that never paid is refused', async () => {
    const wallet = await world.wallet();
    const headers = { ...DRY, 'sign-in-with-x': await wallet.header() };
    expect((await ask('/chat/completions', { model: 'gpt-stub', messages }, headers)).status).toBe(402);
  });
});

describe('an Idempotency-Key', () => {
  const routeOf = (path: string) => ROUTES.find((route) => route.path === path) as Route;
  /** Returns whether the server requests the body. */
  async function isAskedFor(path: string, key: string, name: string): Promise<boolean> {
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': name };
    const first = await firstBytes(world.api, routeOf(path), { headers, expectsContinue: true });
    expect(first).toMatch(/^HTTP\/1\.1 (100|402) /);
    return first.startsWith('HTTP/1.1 100');
  }

  async function spentOnJob() {
    const { sql } = world.api.opened.dependencies.core;
    const { secret, accountId, keyId } = await world.api.newKey('INFERENCE');
    const credit = { operationId: randomUUID(), accountId, amount: PRICE, notes: 'test' };
    await grant(sql, { ...credit, currency: 'usd' });
    const queueId = await acceptJob(sql, { accountId, keyId: null });
    const name = randomUUID();
    await sql.query(
      `insert into idempotency_keys (account_id, key, route, body_sha256, queue_id) values ($1, $2, 'r', $3, $4)`,
      [accountId, name, randomBytes(32), queueId],
    );
    return { secret, queueId, name, accountId, keyId };
  }

  it.each(['/audio/voice-changer/queue', '/audio/queue', '/video/queue'])(
    'of an accepted order admits its repetition on %s, and another key does not',
    async (path) => {
      const { secret, name } = await spentOnJob();
      expect(await isAskedFor(path, secret, name)).toBe(true);
      expect(await isAskedFor(path, secret, randomUUID())).toBe(false);
      expect(await isAskedFor(path, await newKey(), name)).toBe(false);
    },
  );

  it("of another key's order admits no repetition, except by an ADMIN key", async () => {
    const { sql } = world.api.opened.dependencies.core;
    const { name, accountId, keyId } = await spentOnJob();
    await sql.query('update idempotency_keys set key_id = $2 where key = $1', [name, keyId]);
    const other = await world.api.newKey('INFERENCE', { accountId });
    const admin = await world.api.newKey('ADMIN', { accountId });
    expect(await isAskedFor('/audio/queue', other.secret, name)).toBe(false);
    expect(await isAskedFor('/audio/queue', admin.secret, name)).toBe(true);
  });

  it('of a withdrawn order admits no repetition, because that would be charged', async () => {
    const { secret, name, queueId } = await spentOnJob();
    await world.api.opened.dependencies.core.sql.query(
      `update jobs set state = 'failed', failure_code = $2, failure_message = $3, refund_id = charge_id where queue_id = $1`,
      [queueId, GIVEN_BACK.code, GIVEN_BACK.message],
    );
    expect(await isAskedFor('/audio/queue', secret, name)).toBe(false);
  });

  it('of a JSON-RPC request admits its replay for 24 hours', async () => {
    const { sql } = world.api.opened.dependencies.core;
    const { secret, accountId } = await world.api.newKey('INFERENCE');
    const path = '/crypto/rpc/{network}';
    const name = randomUUID();
    await sql.query(
      `insert into rpc_answers (account_id, key, digest, owner, leased_until, operation_id)
       values ($1, $2, $3, $4, clock_timestamp(), 'o')`,
      [accountId, name, randomBytes(32), randomUUID()],
    );
    expect(await isAskedFor(path, secret, name)).toBe(true);
    await sql.query(`update rpc_answers set created_at = clock_timestamp() - interval '25 hours' where key = $1`, [
      name,
    ]);
    expect(await isAskedFor(path, secret, name)).toBe(false);
  });
});

describe('a free model', () => {
  it('answers a caller without funds, who still cannot use other models', async () => {
    const messages = [{ role: 'user', content: 'Hello there' }];
    const before = world.stub.received.length;
    expect((await ask('/chat/completions', { model: 'gpt-free', messages })).status).toBe(200);
    expect(world.stub.received).toHaveLength(before + 1);
    expect((await ask('/chat/completions', { model: 'gpt-stub', messages })).status).toBe(402);
    expect(world.stub.received).toHaveLength(before + 1);
  });

  it("does not admit a character's model, for which nothing is fetched", async () => {
    const content = [{ type: 'image_url', image_url: { url: sourceUrl } }];
    const before = fetched;
    const body = { model: 'gpt-free', messages: [{ role: 'user', content }] };
    const asked = { ...body, service_parameters: { character_slug: 'speaker' } };
    expect((await ask('/chat/completions', asked)).status).toBe(402);
    expect(fetched).toBe(before);
    const refused = await ask('/chat/completions', body);
    expect([refused.status, fetched]).toEqual([400, before + 1]);
  });

  it('does not admit other routes', async () => {
    expect((await ask('/embeddings', { model: 'local-lexical-embedding', input: 'a' })).status).toBe(402);
  });
});

describe('funds', () => {
  it('are available at once when they arrive, and unavailable within seconds when they end', async () => {
    const { sql } = world.api.opened.dependencies.core;
    const { secret: key, accountId } = await world.api.newKey('INFERENCE');
    const order = { url: 'http://127.0.0.1:1/' };
    expect((await ask('/augment/scrape', order, {}, key)).status).toBe(402);
    const credit = { operationId: randomUUID(), accountId, amount: 10n ** 9n, notes: 'test' };
    await grant(sql, { ...credit, currency: 'usd' });
    expect((await ask('/augment/scrape', order, {}, key)).status).toBe(400);
    await sql.query('update accounts set usd_posted = 0 where id = $1', [accountId]);
    const status = async () => (await ask('/augment/scrape', order, {}, key)).status;
    await expect.poll(status, { interval: 200 }).toBe(402);
  });

  it('below the smallest price of a route count as none', async () => {
    const { sql } = world.api.opened.dependencies.core;
    const { secret: key, accountId } = await world.api.newKey('INFERENCE');
    const credit = { operationId: randomUUID(), accountId, amount: 9_999_999n, notes: 'test' };
    await grant(sql, { ...credit, currency: 'usd' });
    expect((await ask('/augment/scrape', {}, {}, key)).status).toBe(402);
    expect((await ask('/chat/completions', {}, {}, key)).status).toBe(400);
  });
});

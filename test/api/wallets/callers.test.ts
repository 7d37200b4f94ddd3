/** A wallet as a caller: signed in without a key, charged on its own account, and shown its balance. */
import { randomUUID } from 'node:crypto';
import { wrapFetchWithSIWx } from '@x402/extensions/sign-in-with-x';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isForWallets } from '../../../api/auth/authenticate.ts';
import { ROUTES } from '../../../api/routes.ts';
import { formatNano } from '../../../domain/money.ts';
import { acceptJob } from '../jobs/jobsWorld.ts';
import { announced } from '../keys/keyClock.ts';
import { startWalletWorld, type TestWallet, USDC, type WalletWorld } from './walletWorld.ts';

const TEN_USD = 10_000_000_000n;

let world: WalletWorld;
beforeAll(async () => {
  world = await startWalletWorld();
});
afterAll(() => world.close());

const QUESTION = { model: 'gpt-stub', messages: [{ role: 'user', content: 'Hello there' }] };

describe('the sign-in of a wallet', () => {
  it('works with the unchanged x402 library and the 402 of chat', async () => {
    const { account, accountId } = await world.wallet(TEN_USD);
    const response = await wrapFetchWithSIWx(fetch, account)(`${world.api.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(QUESTION),
    });
    expect(response.status).toBe(200);
    expect(await world.balance({ accountId })).toBeLessThan(TEN_USD);
  });

  it.each(['SIGN-IN-WITH-X', 'X-Sign-In-With-X'])('is accepted as %s', async (name) => {
    const wallet = await world.wallet(TEN_USD);
    const response = await world.api.call('/jobs', { headers: { [name]: await wallet.header() } });
    expect(response.status).toBe(200);
  });

  it('gives one account for any case of the address', async () => {
    const wallet = await world.wallet(TEN_USD);
    const { address } = wallet.account;
    for (const spelling of [address, address.toLowerCase()]) {
      const headers = { 'sign-in-with-x': await wallet.header(spelling) };
      const response = await world.api.call('/jobs', { headers });
      expect(response.headers.get('x-balance-remaining'), spelling).toBe('10');
    }
  });

  it('gives 401 with its code when it is refused', async () => {
    const wallet = await world.wallet(TEN_USD);
    const headers = { 'sign-in-with-x': await wallet.header() };
    expect((await world.api.call('/jobs', { headers })).status).toBe(200);
    for (const path of ['/jobs', '/chat/completions']) {
      const method = path === '/jobs' ? 'GET' : 'POST';
      const again = await world.api.call(path, { method, headers });
      expect(again.status).toBe(401);
      expect(await again.json()).toEqual({
        error: expect.any(String),
        code: 'X402_SIGN_IN_NONCE_REUSED',
      });
    }
  });

  it('opens no route for keys alone', async () => {
    const wallet = await world.wallet(TEN_USD);
    const headers = { 'sign-in-with-x': await wallet.header() };
    const closed = ROUTES.filter(({ access }) => access !== 'open' && !isForWallets(access));
    expect(closed.map(({ path }) => path)).toEqual(expect.arrayContaining(['/billing/balance', '/models']));
    for (const { method, path } of closed) {
      const response = await world.api.call(path.replaceAll(/\{\w+\}/g, randomUUID()), { method, headers });
      const body: unknown = await response.json();
      expect({ path, status: response.status, body }).toEqual({
        path,
        status: 401,
        body: { error: 'Authentication failed' },
      });
    }
  });

  it('is refused beside a key', async () => {
    const wallet = await world.wallet(TEN_USD);
    const headers = { 'sign-in-with-x': await wallet.header() };
    expect((await world.api.call('/jobs', { headers, key: world.key })).status).toBe(400);
  });

  it('is refused at once for a suspended account', async () => {
    const wallet = await world.wallet(TEN_USD);
    const call = async () =>
      (await world.api.call('/jobs', { headers: { 'sign-in-with-x': await wallet.header() } })).status;
    expect(await call()).toBe(200);
    const { sql } = world.api.opened.dependencies.core;
    await sql.query(`update accounts set status = 'suspended' where id = $1`, [wallet.accountId]);
    await announced(call, 401);
  });
});

describe('the balance header', () => {
  it('shows the balance of the ledger with an answer', async () => {
    const wallet = await world.wallet(TEN_USD);
    const response = await world.chatAs(wallet);
    expect(response.status).toBe(200);
    await response.json();
    const left = await world.balance(wallet);
    expect(left).toBeLessThan(TEN_USD);
    expect(response.headers.get('x-balance-remaining')).toBe(formatNano(left));
  });

  it('shows the balance less the hold at the beginning of a stream', async () => {
    const wallet = await world.wallet(TEN_USD);
    const { accountId } = wallet;
    const { sql } = world.api.opened.dependencies.core;
    const response = await world.chatAs(wallet, { stream: true, max_tokens: 1_000 });
    expect(response.status).toBe(200);
    await response.text();
    const { rows } = await sql.query<{ held: string }>(
      `select held_usd as held from operations where account_id = $1 and kind = 'charge'`,
      [accountId],
    );
    const held = BigInt(rows[0]?.held ?? 0);
    expect(held).toBeGreaterThan(0n);
    expect(response.headers.get('x-balance-remaining')).toBe(formatNano(TEN_USD - held));
    expect(await world.balance(wallet)).toBeGreaterThan(TEN_USD - held);
  });

  it('comes with errors and with free answers', async () => {
    const wallet = await world.wallet(TEN_USD);
    const unknown = await world.chatAs(wallet, { model: 'nothing' });
    expect([unknown.status, unknown.headers.get('x-balance-remaining')]).toEqual([404, '10']);
    const headers = { 'sign-in-with-x': await wallet.header() };
    const jobs = await world.api.call('/jobs', { headers });
    expect([jobs.status, jobs.headers.get('x-balance-remaining')]).toEqual([200, '10']);
  });

  it('comes from every route for wallets with any answer', async () => {
    const wallet = await world.wallet(TEN_USD);
    for (const { method, path } of ROUTES.filter(({ access }) => isForWallets(access))) {
      const filled = path.replace('{walletAddress}', wallet.account.address).replaceAll(/\{\w+\}/g, randomUUID());
      const headers = { 'sign-in-with-x': await wallet.header(), 'content-type': 'application/json' };
      const body = method === 'GET' ? null : '{}';
      const response = await world.api.call(filled, { method, headers, body });
      await response.text();
      const told = [`${method} ${path}`, response.headers.get('x-balance-remaining')];
      expect(told).toEqual([`${method} ${path}`, '10']);
      expect([401, 402], path).not.toContain(response.status);
    }
  });

  it('is absent for a key', async () => {
    const response = await world.chat({});
    expect(response.headers.has('x-balance-remaining')).toBe(false);
  });
});

it('shows the jobs of a wallet to that wallet alone', async () => {
  const [owner, other] = [await world.wallet(TEN_USD), await world.wallet(TEN_USD)];
  const { sql } = world.api.opened.dependencies.core;
  const queueId = await acceptJob(sql, { accountId: owner.accountId, keyId: null });
  const call = async (wallet: TestWallet, path: string) =>
    await world.api.call(path, { headers: { 'sign-in-with-x': await wallet.header() } });
  const list = await call(owner, '/jobs');
  expect(await list.json()).toMatchObject({ data: [{ queue_id: queueId }] });
  expect((await call(owner, `/jobs/${queueId}`)).status).toBe(200);
  const story = await call(owner, `/jobs/${queueId}/events`);
  expect([story.status, story.headers.get('x-balance-remaining')]).toEqual([200, '9.95']);
  await story.body?.cancel();
  expect(await (await call(other, '/jobs')).json()).toMatchObject({ data: [] });
  expect((await call(other, `/jobs/${queueId}`)).status).toBe((await call(other, `/jobs/${randomUUID()}`)).status);
});

describe('a wallet without funds', () => {
  it.each([
    ['never topped up', 0n],
    ['below the least', 99_999_999n],
  ])('that was %s gets the payment offers before its body is read', async (_name, nanoUsd) => {
    const wallet = await world.wallet(nanoUsd);
    const headers = { 'sign-in-with-x': await wallet.header(), 'content-type': 'text/plain' };
    const response = await world.api.call('/chat/completions', { method: 'POST', headers, body: '{' });
    expect(response.status).toBe(402);
    const { origin } = world.api;
    expect(await response.json()).toEqual({
      error: 'Payment required',
      code: 'PAYMENT_REQUIRED',
      reason: 'insufficient_balance',
      message: expect.any(String),
      currentBalanceUsd: Number(nanoUsd) / 1e9,
      minimumBalanceUsd: 0.1,
      description: 'service API',
      suggestedTopUpUsd: 10,
      minimumTopUpUsd: 5,
      supportedTokens: ['USDC'],
      supportedChains: ['base'],
      topUpInstructions: {
        step1: expect.stringContaining(`${origin}/api/v1/x402/top-up`),
        step2: expect.any(String),
        step3: expect.any(String),
        receiverWallet: expect.any(String),
        tokenAddress: USDC,
        tokenDecimals: 6,
        network: 'eip155:8453',
        minimumAmountUsd: 5,
      },
      siwxChallenge: { info: expect.any(Object), supportedChains: expect.any(Array) },
    });
    const told = JSON.parse(Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString());
    expect(told).toMatchObject({
      x402Version: 2,
      accepts: [{ network: 'eip155:8453', amount: '10000000' }],
      extensions: { 'sign-in-with-x': { info: { domain: new URL(origin).host } } },
    });
    expect(response.headers.get('x-balance-remaining')).toBe(formatNano(nanoUsd));
  });

  it('gets the payment offers also with more than the minimum but less than the price', async () => {
    const wallet = await world.wallet(100_000_000n);
    const response = await world.chatAs(wallet, { max_tokens: 90_000 });
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({
      ...{ error: 'Payment required', code: 'PAYMENT_REQUIRED', currentBalanceUsd: 0.1 },
      message: 'This wallet has 0.1 USD here; the request may cost more than that.',
    });
    expect(response.headers.has('payment-required')).toBe(true);
  });

  it('may still list its jobs and get quotes', async () => {
    const wallet = await world.wallet();
    const headers = { 'sign-in-with-x': await wallet.header() };
    const jobs = await world.api.call('/jobs', { headers });
    expect([jobs.status, await jobs.json()]).toMatchObject([200, { data: [] }]);
    const quote = await world.api.call('/audio/voice-changer/quote', {
      method: 'POST',
      headers: { 'sign-in-with-x': await wallet.header(), 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'local-voice-changer', duration_seconds: 60 }),
    });
    expect(quote.status).toBe(200);
  });
});

/** A wallet signs a token and gets an API key of its account, which may have a limit, an expiry and ADMIN rights. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseSignInText } from '../../../domain/signIn/text.ts';
import { newSolanaWallet, signText } from '../../harness/signIns.ts';
import { startWalletWorld, type TestWallet, type WalletWorld } from './walletWorld.ts';

const PATH = '/api_keys/generate_web3_key';

let world: WalletWorld;
beforeAll(async () => {
  world = await startWalletWorld();
});
afterAll(() => world.close());

interface Body {
  error: string;
  data: { id: string; apiKey: string; token: string };
}

async function read<T = Body>(response: Response): Promise<T> {
  return (await response.json()) as T;
}

async function newToken(query = ''): Promise<string> {
  const response = await world.api.call(`${PATH}${query}`);
  expect(response.status).toBe(200);
  return (await read(response)).data.token;
}

async function post(path: string, body: object, key?: string) {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body), ...(key && { key }) };
  const response = await world.api.call(path, init);
  return { status: response.status, body: await read(response) };
}

async function signedToken(wallet: TestWallet, token?: string) {
  const text = token ?? (await newToken());
  const signature = await wallet.account.signMessage({ message: text });
  return { address: wallet.account.address, signature, token: text, apiKeyType: 'ADMIN' };
}

it("gives a wallet without an account a key, which sees the wallet's charges", async () => {
  const wallet = await world.wallet();
  const made = await post(PATH, await signedToken(wallet));
  expect(made).toMatchObject({
    status: 200,
    body: { success: true, data: { apiKeyType: 'ADMIN', description: 'Web3 API Key', expiresAt: null } },
  });
  const key = made.body.data.apiKey;
  const acts = await read(await world.api.call('/audit', { key }));
  expect(acts.data).toMatchObject([
    { actor: wallet.account.address.toLowerCase(), action: 'key.create', targetId: made.body.data.id },
  ]);
  const { accountId } = wallet;
  await world.api.opened.dependencies.core.sql.query(`select * from ledger_post($1, 'grant', $2, 'usd', $3, '{}')`, [
    `grant ${accountId}`,
    accountId,
    10n ** 10n,
  ]);
  expect((await world.chatAs(wallet)).status).toBe(200);
  const history = await read<{ data: object[] }>(await world.api.call('/billing/usage-history', { key }));
  expect(history.data.length).toBeGreaterThan(0);
  const analytics = await read(await world.api.call('/billing/usage-analytics', { key }));
  expect(analytics).toMatchObject({ byKey: [{ apiKeyId: null }] });
});

it('allows a limit, an expiry and a parent key of the same wallet', async () => {
  const wallet = await world.wallet(10_000_000_000n);
  const admin = await post(PATH, await signedToken(wallet));
  const parent = await post(PATH, { ...(await signedToken(wallet)), apiKeyType: 'INFERENCE' });
  const terms = {
    ...{ apiKeyType: 'INFERENCE', consumptionLimit: { usd: 0.000001 }, limitPeriod: 'LIFETIME' },
    ...{ expiresAt: '2099-01-01', parentId: parent.body.data.id },
  };
  const child = await post(PATH, { ...(await signedToken(wallet)), ...terms });
  expect(child.body.data).toMatchObject({
    parentId: parent.body.data.id,
    consumptionLimit: { usd: 0.000001 },
  });
  const chat = await world.chat({}, { key: child.body.data.apiKey });
  expect([chat.status, (await read(chat)).error]).toEqual([402, expect.stringContaining('spend limit')]);
  const removed = await world.api.call(`/api_keys?id=${parent.body.data.id}`, {
    method: 'DELETE',
    key: admin.body.data.apiKey,
  });
  expect(removed.status).toBe(200);
  await expect.poll(async () => (await world.chat({}, { key: child.body.data.apiKey })).status).toBe(401);
});

it('makes keys with limits and expiry for a Solana wallet', async () => {
  const wallet = newSolanaWallet();
  const signedBySolana = async () => {
    const token = await newToken();
    return { address: wallet.address, signature: signText(wallet, token), token, apiKeyType: 'INFERENCE' };
  };
  const made = await post(PATH, {
    ...(await signedBySolana()),
    ...{ consumptionLimit: { usd: 1 }, limitPeriod: 'LIFETIME', expiresAt: '2099-01-01' },
  });
  expect(made).toMatchObject({
    status: 200,
    body: { data: { consumptionLimit: { usd: 1 }, expiresAt: expect.stringMatching(/^2099-01-01/) } },
  });
  const other = { ...(await signedBySolana()), address: newSolanaWallet().address };
  expect((await post(PATH, other)).status).toBe(400);
});

it('makes one key per token, however often it is sent at once', async () => {
  const body = await signedToken(await world.wallet());
  const made = await Promise.all(Array.from({ length: 10 }, () => post(PATH, body)));
  expect(made.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(made.filter(({ status }) => status === 400)).toHaveLength(9);
});

it('names the fault of an invalid request', async () => {
  const wallet = await world.wallet();
  const other = await world.wallet();
  const good = await signedToken(wallet);
  const later = good.token.replace(/(Expiration Time: )\d{4}/, '$19999');
  const elsewhere = good.token.replace(/^[^ ]+/, 'elsewhere.example');
  const bound = await signedToken(wallet, await newToken('?apiKeyType=INFERENCE'));
  const ofOther = await signedToken(wallet, await newToken(`?address=${other.account.address}`));
  const changed = 'The token was changed, or is not of this service';
  const cases: [object, string][] = [
    [{ ...good, address: '0x1234' }, 'The wallet address is not valid'],
    [{ ...good, address: other.account.address }, 'The signature is not of this wallet over this token'],
    [{ ...good, signature: `${good.signature.slice(0, -2)}00` }, 'The signature is not of this wallet over this token'],
    [{ ...good, token: 'nothing' }, 'The token is malformed'],
    [await signedToken(wallet, later), changed],
    [await signedToken(wallet, elsewhere), changed],
    [{ ...good, token: `${good.token}\nNonce: ${'0'.repeat(96)}` }, 'The token is malformed'],
    [{ ...good, token: good.token.replace(/\nNonce: .*/, '') }, 'The token is malformed'],
    [bound, 'The token is for a key of type INFERENCE'],
    [ofOther, 'The token is for another wallet'],
    [{ ...good, expiresAt: '2020-01-01' }, 'Invalid request parameters'],
  ];
  for (const [body, error] of cases) {
    const { status, body: answer } = await post(PATH, body);
    expect([status, answer.error]).toEqual([400, error]);
  }
  expect((await post(PATH, good)).status).toBe(200);
});

it('has a text that names its effect, domain and lifetime', async () => {
  const token = await newToken();
  const { publicUrl } = world.api.opened.dependencies.core.config;
  const { host } = new URL(publicUrl);
  expect(token.split('\n')[0]).toBe(`${host} wants you to create an API key with your wallet.`);
  expect(token).toContain("This creates an API key, ADMIN or INFERENCE, that can spend this wallet's credit.");
  const time = (label: string) => Date.parse(new RegExp(`${label}: (.*)`).exec(token)?.[1] ?? '');
  expect(time('Expiration Time') - time('Issued At')).toBe(15 * 60_000);
  expect(await newToken('?apiKeyType=ADMIN')).toContain('an API key of type ADMIN that can spend');
});

it('is a complete EIP-4361 message with an address, also for Solana, and makes the stated key', async () => {
  const wallet = await world.wallet();
  const { address } = wallet.account;
  const token = await newToken(`?address=${address.toLowerCase()}&apiKeyType=INFERENCE`);
  const { publicUrl } = world.api.opened.dependencies.core.config;
  expect(parseSignInText(token)).toMatchObject({
    ...{ family: 'evm', address, domain: new URL(publicUrl).host },
    uri: `${publicUrl}/api/v1${PATH}`,
    statement: "This creates an API key of type INFERENCE that can spend this wallet's credit.",
  });
  const made = await post(PATH, { ...(await signedToken(wallet, token)), apiKeyType: 'INFERENCE' });
  expect(made).toMatchObject({ status: 200, body: { data: { apiKeyType: 'INFERENCE' } } });
  const solana = newSolanaWallet();
  const text = await newToken(`?address=${solana.address}`);
  expect(parseSignInText(text)).toMatchObject({ family: 'solana', address: solana.address });
  expect((await world.api.call(`${PATH}?address=0x12`)).status).toBe(400);
  expect((await world.api.call(`${PATH}?apiKeyType=ROOT`)).status).toBe(400);
});

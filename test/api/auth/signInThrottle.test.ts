/** Work that one address can cause by sign-ins without paying for it. */
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFailed, vi } from 'vitest';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import type { Config } from '../../../infra/config/config.ts';
import { countBy } from '../../harness/countBy.ts';
import { BASE, encode, newEvmWallet, signed, signInOf, takingSignIns } from '../../harness/signIns.ts';
import { together } from '../../harness/together.ts';
import { withinMinute } from '../../harness/withinMinute.ts';
import { seriesValue } from '../../infra/telemetry/seriesValue.ts';
import { type ChainNode, startChainNode } from '../../stubs/chainNode.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { newWallet, USDC } from '../wallets/walletWorld.ts';

const SIGNED = `"result":"0x1626ba7e${'0'.repeat(56)}"`;
const REFUSED = '"result":"0x"';
/** Per minute and address. */
const LIMIT = 1;
const ASKED_LIMIT = 10 * LIMIT;
const NOT_SIGNED = '401 The signature is not of the key of this address, and no contract there accepts it.';
const ASKED_TOO_OFTEN = `429 Rate limit exceeded: at most ${ASKED_LIMIT} requests per minute with sign-ins that only a chain can judge from one address.`;
const VAIN_LIMIT = 100 * LIMIT;
/** Different from the client address of every test. */
const PROXY = '127.255.0.1';

let node: ChainNode;
let strict: TestApi;
let generous: TestApi;
/** The chain's answer about a contract's signature. */
let verdict: string;

beforeAll(async () => {
  node = await startChainNode();
  node.answer = ({ method }) => (method === 'eth_chainId' ? '"result":"0x2105"' : verdict);
  [strict, generous] = await Promise.all([open(LIMIT), open(1_000_000)]);
});
afterAll(async () => {
  await Promise.all([strict.stop(), generous.stop()]);
  await node.close();
});
beforeEach(resetStubs);

function resetStubs(): void {
  vi.restoreAllMocks();
  verdict = REFUSED;
  node.delayMs = 0;
  node.calls.length = 0;
  node.mostAtOnce = 0;
}

function open(perAddressPerMinute: number): Promise<TestApi> {
  return startApi({
    config: (config): Config => {
      const taking = takingSignIns(config);
      const network: PaymentNetworkSettings = {
        ...{ network: BASE, family: 'evm', asset: USDC, assetName: 'USD Coin', assetVersion: '2' },
        ...{ payTo: `0x${'cafe'.repeat(10)}`, rpcUrls: [node.url], confirmations: 1 },
        ...{
          facilitatorUrl: 'http://127.0.0.1:1',
          feePayerKeyEnv: undefined,
          feeBudgetPerDay: 1,
          allowPrivateNetwork: true,
        },
      };
      const x402 = { ...taking.x402, signInNetworks: [BASE], networks: [network] };
      return { ...taking, x402, limits: { ...taking.limits, perAddressPerMinute, trustedProxies: [PROXY] } };
    },
  });
}

let addresses = 1;
/** Returns an address without counts. */
function newAddress(): string {
  addresses += 1;
  return `127.${process.pid % 250}.${Math.floor(Math.random() * 250)}.${addresses}`;
}

/** Returns a public address without counts, whose requests arrive through the proxy. */
function newForwardedAddress(): string {
  addresses += 1;
  return `198.51.100.${addresses}`;
}

interface Told {
  status: number;
  error: string | undefined;
}

function jobs(api: TestApi, address: string, header: string): Promise<Told> {
  return jobsWith(api, address, { 'SIGN-IN-WITH-X': header });
}

function jobsWithKey(api: TestApi, address: string, secret: string): Promise<Told> {
  return jobsWith(api, address, { Authorization: `Bearer ${secret}` });
}

/** Sends requests of other machines' addresses through the proxy. */
function jobsWith(api: TestApi, address: string, credential: Record<string, string>): Promise<Told> {
  return new Promise((resolve, reject) => {
    const localAddress = address.startsWith('127.') ? address : PROXY;
    const headers = { ...credential, 'X-Forwarded-For': address };
    const asked = request(`${api.baseUrl}/jobs`, { localAddress, headers }, (response) => {
      const status = response.statusCode ?? 0;
      if (status === 429) expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
      text(response).then((body) => resolve({ status, error: JSON.parse(body).error }), reject);
    });
    asked.once('error', reject).end();
  });
}

/** A sign-in that another key signed: only the chain can say whether it is valid for a contract at this address. */
async function ofContract(claimed = newEvmWallet()): Promise<string> {
  const sent = await signed('evm text', claimed);
  return encode({ ...sent, signature: (await signed('evm text', newEvmWallet())).signature });
}

/** Counts the responses to `count` sign-ins by status, with the error where there is one. */
async function ofContracts(address: string, count: number, claimed?: PrivateKeyAccount) {
  const calls = Array.from({ length: count }, () => async () => {
    return await jobs(strict, address, await ofContract(claimed));
  });
  const outcomes = await together(calls, 4);
  return countBy(outcomes.map(({ status, error }) => (error === undefined ? `${status}` : `${status} ${error}`)));
}

const questions = () => node.calls.filter(({ method }) => method === 'eth_call').length;

function statusesOf(answers: readonly Told[]): Record<string, number> {
  return countBy(answers.map(({ status }) => `${status}`));
}

/** Returns the warnings of the API, such as that Redis did not answer and the process counts locally. */
function warningsOf({ log }: TestApi): string {
  return log.filter((line) => JSON.parse(line).level === 'warn').join('');
}

/** Runs the test with fresh addresses and without the state of an earlier run. */
function itWithinMinute(title: string, body: () => Promise<void>): void {
  it(title, async () => {
    onTestFailed(() => void process.stderr.write(warningsOf(strict)));
    await withinMinute(async () => {
      resetStubs();
      await body();
    });
  });
}

itWithinMinute('queries a chain for one address up to the limit of failed sign-ins', async () => {
  const address = newAddress();
  expect(await ofContracts(address, ASKED_LIMIT + 2)).toEqual({
    [NOT_SIGNED]: ASKED_LIMIT,
    [ASKED_TOO_OFTEN]: 2,
  });
  expect(questions()).toBe(ASKED_LIMIT);
  // A sign-in without a chain query is still verified, and so is one of another address.
  expect((await jobs(strict, address, await signInOf(newEvmWallet()))).status).toBe(200);
  expect((await jobs(strict, newAddress(), await ofContract())).status).toBe(401);
});

itWithinMinute('counts clients behind one trusted proxy separately', async () => {
  expect(await ofContracts(newForwardedAddress(), ASKED_LIMIT + 1)).toEqual({
    [NOT_SIGNED]: ASKED_LIMIT,
    [ASKED_TOO_OFTEN]: 1,
  });
  expect(await ofContracts(newForwardedAddress(), 1)).toEqual({ [NOT_SIGNED]: 1 });
});

it('does not count sign-ins that the chain confirms', async () => {
  verdict = SIGNED;
  const address = newAddress();
  expect(await ofContracts(address, ASKED_LIMIT + 2)).toEqual({ 200: ASKED_LIMIT + 2 });
});

itWithinMinute('admits a wallet with recent funds from an address whose limit others used up', async () => {
  const address = newAddress();
  const { account } = await newWallet(strict, 10_000_000_000n, BASE);
  const vain = { [NOT_SIGNED]: ASKED_LIMIT, [ASKED_TOO_OFTEN]: 1 };
  verdict = SIGNED;
  expect(await ofContracts(address, 1, account)).toEqual({ 200: 1 });
  verdict = REFUSED;
  expect(await ofContracts(address, ASKED_LIMIT + 1)).toEqual(vain);
  verdict = SIGNED;
  expect(await ofContracts(address, 1, account)).toEqual({ 200: 1 });
  // The wallet's name does not lift the limit for a client that cannot sign for it.
  verdict = REFUSED;
  expect(await ofContracts(address, ASKED_LIMIT + 1, account)).toEqual(vain);
});

it('lets one address use half of the chain query slots', async () => {
  node.delayMs = 300;
  const [crowd, other] = [newAddress(), newAddress()];
  const headers = await Promise.all(Array.from({ length: 20 }, () => ofContract()));
  const answers = headers.map((header) => jobs(generous, crowd, header));
  const others = jobs(generous, other, await ofContract());
  expect(statusesOf(await Promise.all(answers))).toEqual({ 401: 8, 429: 12 });
  expect((await others).status).toBe(401);
});

it('two addresses that ask for all places leave some to the others', async () => {
  node.delayMs = 1_000;
  const headers = await Promise.all(Array.from({ length: 42 }, () => ofContract()));
  const [one, two] = [newAddress(), newAddress()];
  const crowd = headers.slice(0, 40).map((header, index) => jobs(generous, index % 2 ? one : two, header));
  await expect.poll(questions).toBeGreaterThanOrEqual(10);
  const others = headers.slice(40).map((header) => jobs(generous, newAddress(), header));
  expect(statusesOf(await Promise.all(others))).toEqual({ 401: 2 });
  expect(statusesOf(await Promise.all(crowd))).not.toHaveProperty('503');
});

itWithinMinute('refuses an address after many failed sign-ins, except for wallets with recent funds', async () => {
  const address = newAddress();
  const payer = await newWallet(strict, 10_000_000_000n);
  expect((await jobs(strict, address, await payer.header())).status).toBe(200);
  const bad = encode({ ...(await signed('evm text', newEvmWallet())), message: 'x' });
  const calls = Array.from({ length: VAIN_LIMIT + 20 }, () => () => jobs(strict, address, bad));
  expect(statusesOf(await together(calls, 8))).toEqual({ 401: VAIN_LIMIT, 429: 20 });
  const { sql } = strict.opened.dependencies.core;
  const noncesOf = async () => (await sql.query('select from sign_in_nonces')).rowCount;
  const before = await noncesOf();
  expect(await jobs(strict, address, await signInOf(newEvmWallet()))).toEqual({
    status: 429,
    error: expect.stringContaining('from one address'),
  });
  expect(await noncesOf()).toBe(before);
  expect((await jobs(strict, address, await payer.header())).status).toBe(200);
  expect((await jobs(strict, newAddress(), await signInOf(newEvmWallet()))).status).toBe(200);
});

itWithinMinute(
  'an address that tries keys in vain is shut out before the database is asked, but for keys that are known',
  async () => {
    const address = newAddress();
    const [known, stranger] = await Promise.all([strict.newKey('INFERENCE'), strict.newKey('INFERENCE')]);
    expect((await jobsWithKey(strict, address, known.secret)).status).toBe(200);
    const invented = () => `FAREBOX_INFERENCE_KEY_${randomBytes(32).toString('base64url')}`;
    const calls = Array.from({ length: VAIN_LIMIT + 20 }, () => () => jobsWithKey(strict, address, invented()));
    expect(statusesOf(await together(calls, 8))).toEqual({ 401: VAIN_LIMIT, 429: 20 });
    // A key that this process does not know causes no database query any more, even if it is valid.
    const query = vi.spyOn(strict.opened.dependencies.core.sql, 'query');
    expect((await jobsWithKey(strict, address, invented())).status).toBe(429);
    expect((await jobsWithKey(strict, address, stranger.secret)).status).toBe(429);
    expect(query).not.toHaveBeenCalled();
    query.mockRestore();
    expect((await jobsWithKey(strict, address, known.secret)).status).toBe(200);
    expect((await jobsWithKey(strict, newAddress(), stranger.secret)).status).toBe(200);
  },
);

itWithinMinute('counts wallets without funds, however many they are', async () => {
  const address = newAddress();
  const headers = await Promise.all(Array.from({ length: VAIN_LIMIT + 10 }, () => signInOf(newEvmWallet())));
  const calls = headers.map((header) => () => jobs(strict, address, header));
  expect(statusesOf(await together(calls, 8))).toEqual({ 200: VAIN_LIMIT, 429: 10 });
});

it('counts sign-ins by family and outcome', async () => {
  const address = newAddress();
  const before = await figures();
  expect((await jobs(generous, address, await signInOf(newEvmWallet()))).status).toBe(200);
  expect((await jobs(generous, address, 'x')).status).toBe(401);
  expect((await jobs(generous, address, await ofContract())).status).toBe(401);
  const after = await figures();
  expect(after.map((value, index) => value - (before[index] ?? 0))).toEqual([1, 1, 1]);
});

async function figures(): Promise<number[]> {
  const exported = await (await fetch(`${generous.origin}/metrics`)).text();
  const series: [string, string][] = [
    ['evm', 'ok'],
    ['unknown', 'parse_error'],
    ['evm', 'invalid_signature'],
  ];
  return series.map(([family, outcome]) => seriesValue(exported, 'farebox_sign_ins_total', { family, outcome }) ?? 0);
}

/** A Solana wallet pays with the published client, over a real worker and two APIs with one database. */
import { sign } from 'node:crypto';
import { type PaymentRequired, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { balanceBody, creditedBody, failedBody, offerBody, transactionsBody } from '../../../api/x402/schema.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import type { SolanaNode } from '../../chains/solana/solanaNode.ts';
import { createWorld, type Spawned, spawnWorker } from '../../harness/services.ts';
import { challengedSignIn } from '../../payments/challengedSignIn.ts';
import { asRepeated, decode, encode, PAYMENT_HEADERS, paidEnvironment } from '../../payments/paidWorld.ts';
import { builtByLibraries } from '../../providers/payments/solana/libraryPayment.ts';
import { createSolanaWorld, type Key, newKey, type World } from '../../providers/payments/solana/solanaWorld.ts';
import { startApi, type TestApi } from '../startApi.ts';

const PATH = '/x402/top-up';
const UNITS_PER_DOLLAR = 1_000_000n;
/** Balance of the payee before the first payment. */
const FIRST_UNIT = 1n;

let world: World;
let apis: [TestApi, TestApi];
let worker: Spawned;

beforeAll(async () => {
  // Final after 0.4 s. A payment is valid for 7.5 s.
  const settings = { confirmations: 8 };
  world = await createSolanaWorld({ nodes: 2, chain: { slotEveryMs: 50 }, settings });
  const { network, asset, payTo, rpcUrls, confirmations } = world.settings;
  const entry = { network, asset, payTo, rpcUrls, confirmations, feePayerKeyEnv: 'FEE_KEY' };
  const config = { limits: { perAddressPerMinute: 1_000_000 }, x402: { networks: [entry] } };
  const { environment } = await createWorld();
  Object.assign(environment, paidEnvironment(config), { FEE_KEY: world.feeKey.secret });
  worker = await spawnWorker({ environment });
  apis = [await startApi({ environment }), await startApi({ environment })];
  // The published packages sign only for the address that answers.
  for (const { opened, origin } of apis) opened.dependencies.core.config.publicUrl = origin;
});
afterAll(async () => {
  await Promise.all((apis ?? []).map((api) => api.stop()));
  worker?.kill('SIGKILL');
  await worker?.exit;
  await world?.close();
});

async function newPayer(dollars: bigint): Promise<Key> {
  const payer = newKey();
  await world.usd.fund(payer.address, dollars * UNITS_PER_DOLLAR);
  return payer;
}

/** Pays with the published client and a transaction of Solana's libraries. Returns response and header. */
async function pay(payer: Key): Promise<{ response: Response; header: string }> {
  const { network, asset } = world.settings;
  const payerOf = { rpcUrl: world.nodes[0]?.url ?? '', secret: payer.secret };
  let header = '';
  const watched: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    header = request.headers.get('payment-signature') ?? header;
    return await fetch(request);
  };
  const caip2 = network as `solana:${string}`;
  const client = new x402Client()
    .setSpendControls({ allowedAssets: [{ network: caip2, asset, maxAmountPerPayment: '5000000' }] })
    .register(caip2, {
      scheme: 'exact',
      createPaymentPayload: async (x402Version, requirements) => {
        const extra = requirements.extra as Record<string, string>;
        return { x402Version, payload: await builtByLibraries({ ...requirements, extra }, payerOf) };
      },
    });
  const response = await wrapFetchWithPayment(watched, client)(`${apis[0].baseUrl}${PATH}`, {
    method: 'POST',
  });
  return { response, header };
}

/** Returns a payment header of six dollars without presenting it. */
async function signedHeader({ secret }: Key): Promise<string> {
  const response = await apis[0].call(PATH, { method: 'POST' });
  const [offer] = offerBody.parse(await response.json()).accepts;
  if (!offer) throw new Error('no offer');
  const accepted = { ...offer, amount: '6000000' };
  const payload = await builtByLibraries(accepted, { rpcUrl: world.nodes[1]?.url ?? '', secret });
  return encode({ x402Version: 2, accepted, payload });
}

/** Without its resource, which is the address of one API: those of this test have no public address in common. */
function present(header: string, way: number): Promise<Response> {
  const name = PAYMENT_HEADERS[way % 3] ?? '';
  const { accepted, payload } = decode(header) as { accepted: { network: string }; payload: object };
  const second = encode({ x402Version: 2, accepted, payload });
  const flat = encode({ x402Version: 1, scheme: 'exact', network: accepted.network, payload });
  const api = apis[way % 4 < 2 ? 0 : 1];
  return api.call(PATH, { method: 'POST', headers: { [name]: way % 2 === 0 ? second : flat } });
}

async function own<T>(payer: Key, what: 'balance' | 'transactions', api = apis[0]): Promise<T> {
  const url = `${api.baseUrl}/x402/${what}/${payer.address}`;
  const signMessage = async (message: Uint8Array) => new Uint8Array(sign(null, message, payer.privateKey));
  const header = await challengedSignIn(url, { publicKey: payer.address, signMessage });
  const response = await fetch(url, { headers: { 'SIGN-IN-WITH-X': header } });
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

it('offers a payment with network, mint and fee payer', async () => {
  const response = await apis[0].call(PATH, { method: 'POST' });
  expect(response.status).toBe(402);
  const body = (await response.json()) as PaymentRequired;
  const { network, asset, payTo } = world.settings;
  expect(offerBody.parse(body).accepts).toEqual([
    {
      ...{ scheme: 'exact', network, amount: '5000000', asset, payTo, maxTimeoutSeconds: 300 },
      extra: { name: 'USD Coin', version: '2', feePayer: world.feeKey.address },
    },
  ]);
});

it('settles a payment by our own fee payer and credits it once, however often and wherever it is presented', async () => {
  const payer = await newPayer(20n);
  const { response, header } = await pay(payer);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  const { data } = creditedBody.parse(JSON.parse(text));
  expect(data).toMatchObject({ walletAddress: payer.address, amountCredited: 5, newBalance: 5 });
  const told = decode(response.headers.get('payment-response')) as { transaction: string };
  expect(told).toMatchObject({ success: true, network: world.chain.network, payer: payer.address });
  const record = world.chain.records.get(told.transaction);
  expect(record?.fault).toBeNull();
  expect(record?.message.staticAccounts[0]).toBe(world.feeKey.address);

  const submissions = world.chain.submissions;
  const again = await Promise.all(Array.from({ length: 24 }, (_, way) => present(header, way)));
  for (const answer of again) {
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual(asRepeated(JSON.parse(text)));
  }
  expect(world.chain.submissions).toBe(submissions);
  expect(await world.usd.balanceOf(payer.address)).toBe(15n * UNITS_PER_DOLLAR);

  const { data: balance } = balanceBody.parse(await own(payer, 'balance', apis[1]));
  expect(balance).toMatchObject({ walletAddress: payer.address, balanceUsd: 5, canConsume: true });
  const { data: listed } = transactionsBody.parse(await own(payer, 'transactions'));
  expect(listed.transactions).toMatchObject([{ type: 'TOP_UP', amount: 5, balanceAfter: 5 }]);
});

it('moves and credits a payment once when many present it at once to two APIs', async () => {
  const payer = await newPayer(20n);
  const header = await signedHeader(payer);
  const answers = await Promise.all(Array.from({ length: 24 }, (_, way) => present(header, way)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const told = await Promise.all(answers.map(async (answer) => asRepeated(await answer.json())));
  for (const each of told) expect(each).toEqual(told[0]);
  expect(await world.usd.balanceOf(payer.address)).toBe(14n * UNITS_PER_DOLLAR);
  const { data } = balanceBody.parse(await own(payer, 'balance'));
  expect(data.balanceUsd).toBe(6);
});

it('refuses a payment when the nodes cannot be queried about it or disagree', async () => {
  const header = await signedHeader(await newPayer(20n));
  const rowsOf = async () => (await apis[0].opened.dependencies.core.sql.query('select from top_ups')).rowCount;
  const before = await rowsOf();
  const [first, second] = world.nodes as [SolanaNode, SolanaNode];
  second.disturb = (_body, response) => {
    response.destroy();
    return false;
  };
  const away = await present(header, 0);
  expect([away.status, away.headers.get('retry-after')]).toEqual([503, '5']);
  second.disturb = undefined;
  // One of the two nodes reports that the payment would fail.
  first.rewrite = ({ method }, result) => {
    if (method !== 'simulateTransaction') return result;
    const { value, ...rest } = result as { value: object };
    return { ...rest, value: { ...value, err: 'BlockhashNotFound' } };
  };
  expect((await present(header, 2)).status).toBe(503);
  first.rewrite = undefined;
  expect(await rowsOf()).toBe(before);
  expect((await present(header, 0)).status).toBe(200);
});

it('credits once a payment whose nodes received it and then do not answer', async () => {
  for (const node of world.nodes) {
    node.disturb = (body, response) => {
      if (body.includes('"sendTransaction"')) response.destroy();
      // The transaction is executed, and only its answer is lost.
      return true;
    };
  }
  const payer = await newPayer(20n);
  const submitted = world.chain.submissions;
  const { response, header } = await pay(payer);
  expect(response.status).toBe(200);
  for (const node of world.nodes) node.disturb = undefined;
  expect(await (await present(header, 1)).json()).toEqual(asRepeated(await response.json()));
  expect(world.chain.submissions - submitted).toBeLessThanOrEqual(world.nodes.length);
  expect(await world.usd.balanceOf(payer.address)).toBe(15n * UNITS_PER_DOLLAR);
});

it('ends a payment that the network lost with its validity, without a transfer or a credit', async () => {
  const payer = await newPayer(20n);
  world.chain.onSubmit = 'drop';
  const paying = pay(payer);
  const submitted = world.chain.submissions;
  await expect.poll(() => world.chain.submissions).toBeGreaterThan(submitted);
  // Its blockhash is now too old for any later block.
  world.chain.advance(400);
  const { header } = await paying;
  world.chain.onSubmit = 'execute';
  // The workflow checks once more after a minute.
  const answers = async () => (await present(header, 2)).status;
  await expect.poll(answers, { timeout: 120_000, interval: 500 }).toBe(402);
  const failed = failedBody.parse(await (await present(header, 1)).json());
  expect(failed.details).toMatchObject({ status: 'failed' });
  expect(await world.usd.balanceOf(payer.address)).toBe(20n * UNITS_PER_DOLLAR);
});

it('credits exactly the payments that arrived on the chain and at the payee', async () => {
  const { sql } = apis[0].opened.dependencies.core;
  expect(await checkLedger(sql)).toEqual([]);
  const { rows } = await sql.query<{ units: string; nano: string }>(
    `select (select sum(credited_units) from top_ups)::text as units,
            (select sum(amount) from transfers where kind = 'top_up')::text as nano`,
  );
  const received = (await world.usd.balanceOf(world.payTo)) - FIRST_UNIT;
  expect(BigInt(rows[0]?.units ?? 0)).toBe(received);
  expect(BigInt(rows[0]?.nano ?? 0)).toBe(received * 1_000n);
});

/** POST /x402/top-up with a real chain, a real worker and two APIs with one database. */

import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { creditedBody, offerBody } from '../../../api/x402/schema.ts';
import type { SignedPayment } from '../../../domain/payments/signedPayment.ts';
import { toWallet } from '../../../domain/wallets.ts';
import { balanceOf } from '../../../infra/postgres/ledger.ts';
import { checkLedger } from '../../../infra/postgres/ledgerCheck.ts';
import {
  beginSettlement,
  endTopUp,
  noteSettlement,
  paymentIdOf,
  recordTopUp,
  reserveFee,
} from '../../../infra/postgres/topUps.ts';
import { walletAccountId } from '../../../infra/postgres/walletAccounts.ts';
import { registerLedgerMetrics } from '../../../infra/telemetry/ledgerMetrics.ts';
import { PaymentRefused, UsedBefore } from '../../../providers/payments/paymentNetwork.ts';
import { type EvmChain, startEvmChain } from '../../chains/evmChain.ts';
import { createWorld, type Spawned, spawnWorker } from '../../harness/services.ts';
import { together } from '../../harness/together.ts';
import { longRun } from '../../infra/postgres/longRun.ts';
import { seriesValue } from '../../infra/telemetry/seriesValue.ts';
import { challengedSignIn } from '../../payments/challengedSignIn.ts';
import {
  decode,
  encode,
  headerOf,
  legacyHeaderOf,
  PAYMENT_HEADERS,
  paidConfig,
  paidEnvironment,
} from '../../payments/paidWorld.ts';
import { scriptedNetwork, somePayment } from '../../payments/scriptedNetwork.ts';
import { DOLLAR, PAYEE, type Signed, settingsOn, signedOn } from '../../providers/payments/evm/signedPayments.ts';
import { startApi, type TestApi } from '../startApi.ts';

let chain: EvmChain;
let apis: [TestApi, TestApi];
let worker: Spawned;

beforeAll(async () => {
  chain = await startEvmChain();
  const { environment } = await createWorld();
  Object.assign(environment, paidEnvironment(paidConfig(chain)));
  worker = await spawnWorker({ environment });
  apis = [await startApi({ environment }), await startApi({ environment })];
  // The published packages sign only for the address that answers.
  for (const { opened, origin } of apis) opened.dependencies.core.config.publicUrl = origin;
});
afterAll(async () => {
  await Promise.all(apis.map((api) => api.stop()));
  worker.kill('SIGKILL');
  await worker.exit;
  await chain.stop();
});

const PATH = '/x402/top-up';

function post(headers: Record<string, string>, api = apis[0]): Promise<Response> {
  return api.call(PATH, { method: 'POST', headers });
}

function pay(signed: Signed, name: string = PAYMENT_HEADERS[0]): Promise<Response> {
  return post({ [name]: headerOf(chain, signed) });
}

async function balance({ payer }: Signed): Promise<bigint> {
  const wallet = toWallet(payer.address);
  if (!wallet) throw new Error('no wallet');
  return (await balanceOf(apis[0].opened.dependencies.core.sql, walletAccountId(wallet)))?.usd ?? 0n;
}

const NANO_PER_UNIT = 1_000n;

describe('POST /x402/top-up', () => {
  it('returns payment offers without a payment, in the body and in the header', async () => {
    const response = await post({});
    expect(response.status).toBe(402);
    const body: unknown = await response.json();
    expect(offerBody.parse(body).accepts).toEqual([
      {
        ...{ scheme: 'exact', network: chain.network, amount: '5000000', asset: chain.usdc.toLowerCase() },
        ...{ payTo: PAYEE, maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } },
      },
    ]);
    expect(decode(response.headers.get('payment-required'))).toEqual(body);
  });

  it('credits the payer with the paid amount, and repeats that to every client that presents the payment', async () => {
    const signed = await signedOn(chain, { value: 7_123_457n });
    const response = await pay(signed);
    expect(response.status).toBe(200);
    const { data } = creditedBody.parse(await response.json());
    expect(data).toEqual({
      ...{ walletAddress: signed.payer.address, amountCredited: 7.123457, newBalance: 7.123457 },
      paymentId: expect.stringMatching(/^x402-[0-9a-f]{32}$/),
    });
    const told = decode(response.headers.get('payment-response'));
    expect(told).toMatchObject({ success: true, network: chain.network, payer: signed.payer.address });
    const { transaction } = z.object({ transaction: z.string() }).parse(told);
    const receipt = await chain.client.getTransactionReceipt({ hash: transaction as `0x${string}` });
    expect(receipt.status).toBe('success');
    const again = await post({ 'X-PAYMENT': legacyHeaderOf(signed) }, apis[1]);
    expect(again.status).toBe(200);
    const { newBalance: _, ...replayed } = data;
    expect(creditedBody.parse(await again.json()).data).toEqual(replayed);
    expect(await balance(signed)).toBe(7_123_457n * NANO_PER_UNIT);
    expect(await chain.balanceOf(signed.payer.address)).toBe(7_123_457n);
  });

  it('shows the balance only to a payer who signs in, also of a payment that was settled elsewhere', async () => {
    const signed = await signedOn(chain);
    await chain.settle(signed.authorization, signed.signature);
    const stranger = creditedBody.parse(await (await pay(signed)).json()).data;
    expect(stranger).toMatchObject({ amountCredited: 10, paymentId: expect.any(String) });
    expect(stranger).not.toHaveProperty('newBalance');
    const url = `${apis[0].baseUrl}/x402/balance/${signed.payer.address}`;
    const response = await post({
      'PAYMENT-SIGNATURE': headerOf(chain, signed),
      'SIGN-IN-WITH-X': await challengedSignIn(url, signed.payer),
    });
    expect(creditedBody.parse(await response.json()).data).toEqual({ ...stranger, newBalance: 10 });
  });

  it('takes no further payment of a wallet of which too many are open, and says when to come again', async () => {
    const { sql } = apis[0].opened.dependencies.core;
    const signed = await signedOn(chain);
    const payer = toWallet(signed.payer.address);
    if (!payer) throw new Error('no wallet');
    const open = Array.from({ length: 5 }, () => somePayment({ payer, network: chain.network }));
    for (const payment of open) await recordTopUp(sql, { payment, decimals: 6, requestId: '0'.repeat(32) });
    const refused = await pay(signed);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: expect.stringContaining('5 payments') });
    for (const payment of open) {
      await endTopUp(sql, { paymentId: paymentIdOf(payment), state: 'failed', reason: 'test' });
    }
    expect((await pay(signed)).status).toBe(200);
  });

  it('refuses without a 503 a payment that was used up before the search of its chain begins', async () => {
    const network = scriptedNetwork();
    const used = new PaymentRefused('PAYMENT_VERIFICATION_FAILED', 'used', { reason: 'used' });
    network.play({ verify: used, findFirst: new UsedBefore('no event says where') });
    const presentation = { network, payment: somePayment(), requestId: '0'.repeat(32) };
    const presented = apis[0].opened.dependencies.accounts.topUps.present({
      ...presentation,
      stopping: new AbortController().signal,
    });
    await expect(presented).rejects.toBe(used);
  });

  it('reserves fees of payments without a credit up to the daily budget, and returns those of refusals', async () => {
    const { sql } = apis[0].opened.dependencies.core;
    const network = 'eip155:31337';
    const [one, two] = [somePayment({ network }), somePayment({ network })];
    for (const payment of [one, two]) await recordTopUp(sql, { payment, decimals: 6, requestId: '0'.repeat(32) });
    const reserve = (payment: SignedPayment, fee: bigint) =>
      reserveFee(sql, { paymentId: paymentIdOf(payment), network, fee, budget: 100n });
    expect(await reserve(one, 60n)).toBe(true);
    expect(await reserve(two, 41n)).toBe(false);
    expect(await reserve(two, 40n)).toBe(true);
    expect(await reserve(one, 1n)).toBe(false);
    const paymentId = paymentIdOf(two);
    expect(await beginSettlement(sql, { paymentId, settlement: 1 })).toBe(true);
    await noteSettlement(sql, { paymentId, settlement: 1, state: 'refused' });
    expect(await reserve(one, 40n)).toBe(true);
    const registry = new Registry();
    const settings = { ...settingsOn(chain), network, feeBudgetPerDay: 200e-9 };
    registerLedgerMetrics(registry, sql, [settings]);
    const ratio = seriesValue(await registry.metrics(), 'farebox_settlement_fee_budget_ratio', {
      provider: network,
    });
    expect(ratio).toBeCloseTo(100 / 200e9, 15);
    for (const payment of [one, two]) {
      await endTopUp(sql, { paymentId: paymentIdOf(payment), state: 'failed', reason: 'test' });
    }
  });

  it('takes no further payment of a wallet of which three cost a fee today and moved nothing', async () => {
    const { sql } = apis[0].opened.dependencies.core;
    const signed = await signedOn(chain);
    const payer = toWallet(signed.payer.address);
    if (!payer) throw new Error('no wallet');
    for (let failures = 0; failures < 3; failures += 1) {
      const payment = somePayment({ payer, network: chain.network });
      const paymentId = paymentIdOf(payment);
      await recordTopUp(sql, { payment, decimals: 6, requestId: '0'.repeat(32) });
      await sql.query('update top_ups set fee_reserved = 1, fee_day = current_date where id = $1', [paymentId]);
      await endTopUp(sql, { paymentId, state: 'failed', reason: 'reverted' });
    }
    const refused = await pay(signed);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: expect.stringContaining('cost a fee') });
  });

  it('answers a credited payment as such also when its time is over', async () => {
    const now = BigInt(Math.floor(Date.now() / 1_000));
    const signed = await signedOn(chain, { validBefore: now + 600n });
    expect((await pay(signed)).status).toBe(200);
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 601_000 });
    const again = await pay(signed);
    expect(again.status).toBe(200);
    expect(creditedBody.parse(await again.json()).data.amountCredited).toBe(10);
  });

  it('credits a payment that reached the chain before it was presented', async () => {
    const signed = await signedOn(chain);
    await chain.settle(signed.authorization, signed.signature);
    expect((await pay(signed)).status).toBe(200);
    expect(await balance(signed)).toBe(10n * DOLLAR * NANO_PER_UNIT);
  });

  it('refuses another payment with the nonce of an accepted one', async () => {
    const signed = await signedOn(chain);
    expect((await pay(signed)).status).toBe(200);
    const authorization = { ...signed.authorization, value: 6n * DOLLAR };
    const other = { ...signed, authorization, signature: await chain.sign(signed.payer, authorization) };
    const response = await pay(other);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'PAYMENT_VERIFICATION_FAILED' });
  });

  it('refuses a payment without enough funds of its payer, and records nothing', async () => {
    const { payer, ...rest } = await signedOn(chain);
    const authorization = { ...rest.authorization, value: 9_000n * DOLLAR };
    const signature = await chain.sign(payer, authorization);
    const response = await pay({ payer, authorization, signature });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: 'PAYMENT_VERIFICATION_FAILED',
      message: expect.any(String),
    });
    const { rows } = await apis[0].opened.dependencies.core.sql.query('select from top_ups where payer = $1', [
      payer.address.toLowerCase(),
    ]);
    expect(rows.length).toBe(0);
  });

  it('refuses any two payment headers, and a repeated one', async () => {
    const header = headerOf(chain, await signedOn(chain));
    for (const two of [
      { 'PAYMENT-SIGNATURE': header, 'X-PAYMENT': header },
      { 'X-402-Payment': header, 'X-PAYMENT': header },
      { 'PAYMENT-SIGNATURE': `${header}, ${header}` },
    ]) {
      const response = await post(two as Record<string, string>);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: 'INVALID_PAYMENT_FORMAT' });
    }
  });

  it.each([
    ['is no base64', () => '{}', 'INVALID_PAYMENT_FORMAT'],
    ['is empty', () => '=', 'INVALID_PAYMENT_FORMAT'],
    ['is longer than 8 kB', () => 'A'.repeat(8_196), 'INVALID_PAYMENT_FORMAT'],
    [
      'is on another network',
      () => encode({ x402Version: 1, scheme: 'exact', network: 'base', payload: {} }),
      'UNSUPPORTED_NETWORK',
    ],
    [
      'has another scheme',
      () => encode({ x402Version: 1, scheme: 'upto', network: 'base-sepolia', payload: {} }),
      'UNSUPPORTED_SCHEME',
    ],
  ])('refuses a payment header that %s', async (_what, header, error) => {
    const response = await post({ 'PAYMENT-SIGNATURE': header() });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error, message: expect.any(String) });
  });

  it('answers 503 without a configured network, with and without a payment', async () => {
    const api = await startApi();
    try {
      for (const headers of [{}, { 'PAYMENT-SIGNATURE': 'x' }]) {
        const response = await post(headers as Record<string, string>, api);
        expect(response.status).toBe(503);
        expect(await response.json()).toMatchObject({ error: 'X402_NOT_CONFIGURED' });
      }
      for (const path of ['balance', 'transactions']) {
        const response = await api.call(`/x402/${path}/${PAYEE}`);
        expect(response.status).toBe(503);
        expect(await response.json()).toMatchObject({ error: 'X402_NOT_CONFIGURED' });
      }
    } finally {
      await api.stop();
    }
  });

  it('limits the requests of one address', async () => {
    // A process with its own limits, because the others have counted this address already.
    const { environment } = await createWorld();
    Object.assign(environment, paidEnvironment(paidConfig(chain, { perAddressPerMinute: 2 })));
    const api = await startApi({ environment });
    try {
      const statuses = [];
      for (let asked = 0; asked < 3; asked += 1) statuses.push((await post({}, api)).status);
      expect(statuses).toEqual([402, 402, 429]);
    } finally {
      await api.stop();
    }
  });

  it('records and starts nothing when Temporal is down, and asks for the same payment again', async () => {
    const environment = { ...apis[0].environment, TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const api = await startApi({ environment });
    try {
      const signed = await signedOn(chain);
      const response = await post({ 'PAYMENT-SIGNATURE': headerOf(chain, signed) }, api);
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ error: expect.stringContaining('same payment again') });
      const { rows } = await api.opened.dependencies.core.sql.query('select from top_ups where payer = $1', [
        signed.payer.address.toLowerCase(),
      ]);
      expect(rows.length).toBe(0);
      // The same payment is accepted with Temporal.
      expect((await pay(signed)).status).toBe(200);
    } finally {
      await api.stop();
    }
  });
});

const POSTS = longRun(60, 1_000);
const ROUNDS = longRun(3, 20);

describe(`one authorization posted ${POSTS} times in parallel`, () => {
  it(
    'over three header names, both envelopes and two APIs is credited once with equal answers, and at most one shows the balance',
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const signed = await signedOn(chain);
        const headers = [headerOf(chain, signed), legacyHeaderOf(signed)];
        const calls = Array.from({ length: POSTS }, (_, index) => async () => {
          const name = PAYMENT_HEADERS[index % 3] ?? '';
          const response = await post({ [name]: headers[index % 2] ?? '' }, apis[index % 5 < 2 ? 0 : 1]);
          return { status: response.status, body: await response.text() };
        });
        const answers = await together(calls, Math.min(POSTS, 200));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
        const told = answers.map(({ body }) => creditedBody.parse(JSON.parse(body)).data);
        // A client that intercepted the payment could present it beside its payer, so at most one gets the balance.
        expect(told.filter(({ newBalance }) => newBalance !== undefined).length).toBeLessThanOrEqual(1);
        const same = told.map(({ newBalance: _, ...data }) => JSON.stringify(data));
        expect(new Set(same).size).toBe(1);
        expect(await balance(signed)).toBe(10n * DOLLAR * NANO_PER_UNIT);
        expect(await chain.balanceOf(signed.payer.address)).toBe(10n * DOLLAR);
      }
    },
    longRun(60_000, 600_000),
  );

  it('credits exactly the payments that arrived on the chain and at the payee', async () => {
    const { sql } = apis[0].opened.dependencies.core;
    expect(await checkLedger(sql)).toEqual([]);
    const { rows } = await sql.query<{ units: string }>('select sum(credited_units)::text as units from top_ups');
    expect(BigInt(rows[0]?.units ?? 0)).toBe(await chain.balanceOf(PAYEE));
  });
});

/** A wallet that signs in with its payment: it must be the payer, with a single valid and unused sign-in. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { creditedBody } from '../../../api/x402/schema.ts';
import { toWallet } from '../../../domain/wallets.ts';
import { creditTopUp, paymentIdOf, recordTopUp } from '../../../infra/postgres/topUps.ts';
import {
  encode,
  FORMS,
  newEvmWallet,
  newSolanaWallet,
  type SigningWallet,
  signed,
  signInOf,
  takingSignIns,
} from '../../harness/signIns.ts';
import { NETWORK, type ScriptedNetwork, scriptedNetwork, somePayment } from '../../payments/scriptedNetwork.ts';
import { startApi, type TestApi } from '../startApi.ts';

const PATH = '/x402/top-up';

let api: TestApi;
let network: ScriptedNetwork;
beforeAll(async () => {
  api = await startApi({
    config: (config) => ({
      ...takingSignIns(config),
      limits: { ...config.limits, perAddressPerMinute: 1_000_000 },
    }),
  });
  network = scriptedNetwork();
  (api.opened.dependencies.accounts.payments as Map<string, unknown>).set(NETWORK, network);
});
afterAll(() => api.stop());
beforeEach(() => network.play({}));

/** Returns the header of a credited payment of this wallet, whose answer needs no workflow. */
async function paymentOf({ address }: SigningWallet): Promise<string> {
  const payer = toWallet(address);
  if (!payer) throw new Error('no wallet');
  const payment = somePayment({ payer });
  const { sql } = api.opened.dependencies.core;
  await recordTopUp(sql, { payment, decimals: 6, requestId: 'r' });
  await creditTopUp(sql, { paymentId: paymentIdOf(payment), units: payment.amount, transaction: '0x1' });
  return encode({ x402Version: 1, scheme: 'exact', network: NETWORK, payload: { payment } });
}

async function post(payment: string, headers: Record<string, string>) {
  const init = { method: 'POST', headers: { 'PAYMENT-SIGNATURE': payment, ...headers } };
  const response = await api.call(PATH, init);
  return { status: response.status, body: (await response.json()) as { error: string; code?: string } };
}

describe('a payment with a sign-in of its payer', () => {
  it.each(FORMS)('%s: is answered like one without a sign-in', async (form) => {
    const wallet = form.startsWith('evm') ? newEvmWallet() : newSolanaWallet();
    const payment = await paymentOf(wallet);
    for (const name of ['SIGN-IN-WITH-X', 'X-Sign-In-With-X']) {
      const { status, body } = await post(payment, { [name]: encode(await signed(form, wallet)) });
      expect(status).toBe(200);
      expect(creditedBody.parse(body).data).toMatchObject({
        walletAddress: wallet.address,
        amountCredited: 5,
      });
    }
  });

  it('may have its address in another case', async () => {
    const wallet = newEvmWallet();
    const payment = await paymentOf(wallet);
    const sent = await signed('evm fields', wallet);
    const header = encode({ ...sent, address: wallet.address.toLowerCase() });
    expect((await post(payment, { 'SIGN-IN-WITH-X': header })).status).toBe(200);
  });

  it('has its sign-in accepted once over all routes', async () => {
    const wallet = newEvmWallet();
    const payment = await paymentOf(wallet);
    const header = await signInOf(wallet);
    expect((await post(payment, { 'SIGN-IN-WITH-X': header })).status).toBe(200);
    const reused = { status: 401, body: { code: 'X402_SIGN_IN_NONCE_REUSED', error: expect.any(String) } };
    expect(await post(payment, { 'SIGN-IN-WITH-X': header })).toEqual(reused);
    const jobs = await api.call('/jobs', { headers: { 'SIGN-IN-WITH-X': header } });
    expect([jobs.status, await jobs.json()]).toEqual([401, reused.body]);
    const other = await signInOf(wallet);
    expect((await api.call('/jobs', { headers: { 'SIGN-IN-WITH-X': other } })).status).toBe(200);
    expect(await post(payment, { 'SIGN-IN-WITH-X': other })).toEqual(reused);
  });
});

describe('a payment that is refused without a chain query', () => {
  it('with a sign-in of another wallet, also of another chain', async () => {
    const payment = await paymentOf(newEvmWallet());
    for (const other of [newEvmWallet(), newSolanaWallet()]) {
      const answer = await post(payment, { 'SIGN-IN-WITH-X': await signInOf(other) });
      expect(answer).toMatchObject({ status: 400, body: { error: 'INVALID_PAYMENT_PAYER' } });
    }
    expect(network.calls).toEqual({ verify: 0, settle: 0, find: 0 });
  });

  it('with an invalid sign-in, by its code', async () => {
    const wallet = newEvmWallet();
    const payment = await paymentOf(wallet);
    const stranger = await signed('evm text', newEvmWallet());
    const cases: [string, unknown][] = [
      ['PARSE_ERROR', 'x'],
      ['INVALID_SIGNATURE', { ...(await signed('evm text', wallet)), signature: stranger.signature }],
      ['EXPIRED', await signed('evm text', wallet, { nowMs: Date.now() - 400_000 })],
      ['ADDRESS_MISMATCH', { ...(await signed('evm text', wallet)), address: stranger.address }],
    ];
    for (const [code, sent] of cases) {
      const answer = await post(payment, {
        'SIGN-IN-WITH-X': typeof sent === 'string' ? sent : encode(sent),
      });
      expect(answer).toEqual({
        status: 401,
        body: { error: expect.any(String), code: `X402_SIGN_IN_${code}` },
      });
    }
    expect(network.calls).toEqual({ verify: 0, settle: 0, find: 0 });
  });

  it('with any two credentials, none of which is used up', async () => {
    const wallet = newEvmWallet();
    const payment = await paymentOf(wallet);
    const [one, two] = [await signInOf(wallet), await signInOf(wallet)];
    const { secret } = await api.newKey('INFERENCE');
    const pairs: Record<string, string>[] = [
      { 'SIGN-IN-WITH-X': one, 'X-Sign-In-With-X': two },
      { 'SIGN-IN-WITH-X': one, 'X-Sign-In-With-X': one },
      { 'SIGN-IN-WITH-X': `${one}, ${two}` },
      { 'SIGN-IN-WITH-X': one, Authorization: `Bearer ${secret}` },
      { 'X-Sign-In-With-X': one, Authorization: 'Basic eDp5' },
    ];
    for (const pair of pairs) expect((await post(payment, pair)).status, Object.keys(pair).join()).toBe(400);
    for (const header of [one, two]) {
      expect((await post(payment, { 'SIGN-IN-WITH-X': header })).status).toBe(200);
    }
  });
});

it('a key beside a payment has no effect: the payer gets the credit', async () => {
  const wallet = newEvmWallet();
  const { secret } = await api.newKey('INFERENCE');
  const answer = await post(await paymentOf(wallet), { Authorization: `Bearer ${secret}` });
  expect(creditedBody.parse(answer.body).data.walletAddress).toBe(wallet.address);
});

/** A wallet pays by the unchanged x402 packages, signs in, buys until its credit is used up, and pays again. */
import { decodePaymentResponseHeader } from '@x402/fetch';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { challengedSignIn } from '../payments/challengedSignIn.ts';
import { openWalletWorld, type Payer, type WalletWorld } from './walletWorld.ts';

let world: WalletWorld;

beforeAll(async () => {
  world = await openWalletWorld();
});

afterAll(() => world.close());

const DOLLAR = 1_000_000n;

interface Data {
  data: Record<string, unknown>;
}

/** Reads by a sign-in that answers the challenge, because the package could pay nothing there. */
async function own({ wallet }: Payer, what: 'balance' | 'transactions'): Promise<Data['data']> {
  const url = `${world.deployment.baseUrl}/x402/${what}/${wallet.address}`;
  const header = await challengedSignIn(url, wallet);
  const answer = await fetch(url, { headers: { 'SIGN-IN-WITH-X': header } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as Data).data;
}

async function paid(payer: Payer): Promise<{ amountCredited: number; newBalance: number; transaction: string }> {
  const answer = await payer.topUp();
  const body = await answer.json();
  expect({ status: answer.status, body }).toMatchObject({ status: 200, body: { success: true } });
  const said = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '');
  expect(said).toMatchObject({ success: true, network: world.chain.network });
  return { ...(body as { data: { amountCredited: number; newBalance: number } }).data, ...said };
}

/** Number of calls of `tokens` tokens until one is refused. */
async function buyAll(payer: Payer, tokens: number): Promise<number> {
  for (let bought = 0; bought < 50; bought += 1) {
    const answer = await payer.chat(tokens);
    await answer.arrayBuffer();
    if (answer.status !== 200) {
      expect(answer.status).toBe(402);
      return bought;
    }
    expect(Number(answer.headers.get('x-balance-remaining'))).toBeLessThan(5);
  }
  throw new Error('the money never runs out');
}

test('a wallet without an account pays, buys until it needs a top-up, pays and buys again', async () => {
  const payer = await world.newPayer(20);
  const first = await paid(payer);
  expect(first).toMatchObject({ amountCredited: 5, newBalance: 5 });
  expect(await world.chain.balanceOf(payer.wallet.address)).toBe(15n * DOLLAR);
  const receipt = await world.chain.client.getTransactionReceipt({
    hash: first.transaction as `0x${string}`,
  });
  expect(receipt.status).toBe('success');

  // Long answers first, then single words, until the rest covers no call.
  const bought = (await buyAll(payer, 32)) + (await buyAll(payer, 1));
  expect(bought).toBeGreaterThanOrEqual(3);
  const refused = await payer.chat(1);
  expect(refused.status).toBe(402);
  expect(await refused.json()).toMatchObject({
    ...{ code: 'PAYMENT_REQUIRED', reason: 'insufficient_balance', minimumTopUpUsd: 5 },
    topUpInstructions: { receiverWallet: expect.stringMatching(new RegExp(world.payTo, 'i')) },
  });

  const left = (await own(payer, 'balance')).balanceUsd as number;
  const second = await paid(payer);
  expect(second.newBalance).toBeCloseTo(left + 5, 9);
  expect((await payer.chat()).status).toBe(200);

  const { transactions } = (await own(payer, 'transactions')) as { transactions: { type: string }[] };
  expect(transactions.filter(({ type }) => type === 'TOP_UP')).toHaveLength(2);
  expect(transactions.filter(({ type }) => type === 'CHARGE')).toHaveLength(bought + 1);
  expect(await world.chain.balanceOf(payer.wallet.address)).toBe(10n * DOLLAR);
  expect(await checkLedger(world.deployment.pool)).toEqual([]);
});

test("a wallet that never paid is told how to pay, and cannot see another's payments", async () => {
  const [payer, other] = await Promise.all([world.newPayer(20), world.newPayer(0)]);
  await paid(payer);
  expect((await other.chat()).status).toBe(402);
  expect(await own(other, 'balance')).toMatchObject({ balanceUsd: 0, canConsume: false });
  const url = `${world.deployment.baseUrl}/x402/balance/${payer.wallet.address}`;
  const header = await challengedSignIn(url, other.wallet);
  expect((await fetch(url, { headers: { 'SIGN-IN-WITH-X': header } })).status).toBe(403);
});

test('a wallet without enough funds on the chain is refused before its payment is submitted', async () => {
  const poor = await world.newPayer(4);
  const before = world.facilitator.counts.settle;
  const answer = await poor.topUp();
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: 'PAYMENT_VERIFICATION_FAILED' });
  expect(world.facilitator.counts.settle).toBe(before);
  expect(await world.topUpOf(poor)).toBeUndefined();
});

import { HTTPFacilitatorClient } from '@x402/core/server';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type EvmChain, startEvmChain } from './evmChain.ts';
import { startFacilitator, type TestFacilitator } from './facilitator.ts';
import { LIES, MUDDLES, SILENCES } from './facilitatorFaults.ts';

let chain: EvmChain;
let facilitator: TestFacilitator;

beforeAll(async () => {
  chain = await startEvmChain();
  facilitator = await startFacilitator(chain);
  facilitator.slowness(50);
});

beforeEach(() => facilitator.behave('honest'));

afterAll(async () => {
  await facilitator.close();
  await chain.stop();
});

const DOLLAR = 1_000_000n;

async function payment() {
  const [payer, payee] = await Promise.all([chain.newWallet(10n * DOLLAR), chain.newWallet()]);
  const a = await chain.authorization({ from: payer.address, to: payee.address, value: DOLLAR });
  const requirements: PaymentRequirements = {
    scheme: 'exact',
    network: `eip155:${chain.chainId}`,
    amount: String(a.value),
    asset: chain.usdc,
    payTo: payee.address,
    maxTimeoutSeconds: 300,
    extra: { name: 'USD Coin', version: '2' },
  };
  const authorization = {
    ...a,
    value: String(a.value),
    validAfter: String(a.validAfter),
    validBefore: String(a.validBefore),
  };
  const payload: PaymentPayload = {
    x402Version: 2,
    accepted: requirements,
    payload: { signature: await chain.sign(payer, a), authorization },
  };
  return { payer, payee, requirements, payload };
}

const client = () => new HTTPFacilitatorClient({ url: facilitator.url });

async function settle({ payload, requirements }: Awaited<ReturnType<typeof payment>>): Promise<string> {
  const body = JSON.stringify({
    x402Version: 2,
    paymentPayload: payload,
    paymentRequirements: requirements,
  });
  const request = { method: 'POST', body, redirect: 'manual', signal: AbortSignal.timeout(1_000) } as const;
  const answer = await fetch(`${facilitator.url}/settle`, request);
  return `${answer.status} ${await answer.text()}`;
}

test('an honest facilitator verifies, settles once, and lists what it supports', async () => {
  const each = await payment();
  const before = { ...facilitator.counts };
  expect(await client().verify(each.payload, each.requirements)).toMatchObject({ isValid: true });
  const said = await client().settle(each.payload, each.requirements);
  expect(said).toMatchObject({ success: true, network: chain.network, payer: each.payer.address });
  expect(await chain.balanceOf(each.payee.address)).toBe(DOLLAR);
  expect((await client().getSupported()).kinds).toContainEqual(
    expect.objectContaining({ scheme: 'exact', network: chain.network }),
  );
  expect(facilitator.counts).toEqual({
    verify: before.verify + 1,
    settle: before.settle + 1,
    supported: before.supported + 1,
  });
});

test('an honest facilitator settles all of many concurrent payments', async () => {
  const many = await Promise.all(Array.from({ length: 12 }, payment));
  const said = await Promise.all(many.map((each) => client().settle(each.payload, each.requirements)));
  expect(said.map(({ success }) => success)).toEqual(many.map(() => true));
  const paid = await Promise.all(many.map(({ payee }) => chain.balanceOf(payee.address)));
  expect(paid).toEqual(many.map(() => DOLLAR));
});

test('the table has at least twelve lies', () => {
  expect(Object.keys(LIES).length).toBeGreaterThanOrEqual(12);
});

test.each(Object.keys(LIES) as (keyof typeof LIES)[])('%s: takes no money from the payer', async (lie) => {
  const each = await payment();
  facilitator.behave(lie);
  await settle(each);
  expect(await chain.balanceOf(each.payer.address)).toBe(10n * DOLLAR);
});

test.each(Object.keys(MUDDLES) as (keyof typeof MUDDLES)[])('%s: takes the payment from the payer', async (muddle) => {
  const each = await payment();
  facilitator.behave(muddle);
  await settle(each).catch(() => undefined);
  await expect.poll(() => chain.balanceOf(each.payee.address)).toBe(DOLLAR);
});

test.each(Object.keys(SILENCES) as (keyof typeof SILENCES)[])('%s: moves no money', async (silence) => {
  const each = await payment();
  facilitator.behave(silence);
  await settle(each).catch(() => undefined);
  expect(await chain.balanceOf(each.payee.address)).toBe(0n);
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PaymentNetwork, SignedPayment } from '../../../../providers/payments/paymentNetwork.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { DOLLAR, envelopeOf, networkOn, PAYEE, payloadOf, readOn, signedOn } from './signedPayments.ts';

let chain: EvmChain;
let network: PaymentNetwork;
const within = AbortSignal.timeout(60_000);

beforeAll(async () => {
  chain = await startEvmChain();
  network = networkOn(chain);
});

afterAll(async () => {
  await network.close?.();
  await chain.stop();
});

async function settled(payment: SignedPayment): Promise<string> {
  const outcome = await network.settle(payment, within);
  if (outcome.outcome !== 'sent' || outcome.transaction === undefined)
    throw new Error(JSON.stringify(outcome));
  return outcome.transaction;
}

describe('a payment that is good', () => {
  test('is read, verified, settled and found, with and without a hint', async () => {
    const signed = await signedOn(chain);
    const before = await chain.balanceOf(PAYEE);
    const payment = await readOn(network, signed);
    await network.verify(payment, within);
    expect(await network.find(payment, within)).toEqual({ state: 'absent', gone: false });
    const transaction = await settled(payment);
    expect(await chain.balanceOf(PAYEE)).toBe(before + 10n * DOLLAR);
    const final = { state: 'final', transaction, amount: '10000000' };
    expect(await network.find(payment, within)).toEqual(final);
    expect(await network.find(payment, within, transaction)).toEqual(final);
    expect(await network.find(payment, within, `0x${'1'.repeat(64)}`)).toEqual(final);
  });

  test('in the flat legacy shape is the same payment', async () => {
    const signed = await signedOn(chain);
    const flat = {
      x402Version: 1,
      scheme: 'exact',
      network: 'base-sepolia',
      payload: payloadOf(signed),
    } as const;
    const now = Date.now();
    const one = await network.read({ ...flat, accepted: undefined, resourceUrl: undefined }, now);
    const other = await network.read(await envelopeOf(network, signed), now);
    expect(one).toEqual(other);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PaymentNetwork } from '../../../../providers/payments/paymentNetwork.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { startFacilitator, type TestFacilitator } from '../../../chains/facilitator.ts';
import { LIES, MUDDLES, SILENCES } from '../../../chains/facilitatorFaults.ts';
import { DOLLAR, envelopeOf, networkOn, PAYEE, payloadOf, readOn, signedOn } from './signedPayments.ts';

let chain: EvmChain;
let facilitator: TestFacilitator;
let network: PaymentNetwork;
const within = AbortSignal.timeout(600_000);

beforeAll(async () => {
  chain = await startEvmChain();
  facilitator = await startFacilitator(chain);
  facilitator.slowness(100);
  network = networkOn(chain, { facilitatorUrl: facilitator.url, feePayerKeyEnv: undefined });
});

beforeEach(() => facilitator.behave('honest'));

afterAll(async () => {
  await network.close?.();
  await facilitator.close();
  await chain.stop();
});

describe('an honest facilitator', () => {
  test('settles a payment of either shape, and the chain confirms it', async () => {
    for (const shape of ['second', 'flat'] as const) {
      const signed = await signedOn(chain);
      const flat = { scheme: 'exact', network: 'base-sepolia', payload: payloadOf(signed) };
      const envelope =
        shape === 'second'
          ? await envelopeOf(network, signed)
          : ({ ...flat, x402Version: 1, accepted: undefined, resourceUrl: undefined } as const);
      const payment = await network.read(envelope, Date.now());
      await network.verify(payment, within);
      const outcome = await network.settle(payment, within);
      expect(outcome).toMatchObject({
        outcome: 'sent',
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      });
      expect(await network.find(payment, within)).toMatchObject({ state: 'final', amount: '10000000' });
    }
  });

  test('refuses an impossible payment with certainty', async () => {
    const signed = await signedOn(chain);
    const payment = await readOn(network, signed);
    const { payer } = signed;
    const away = await chain.authorization({
      from: payer.address,
      to: chain.bank.address,
      value: 15n * DOLLAR,
    });
    await chain.settle(away, await chain.sign(payer, away));
    expect(await network.settle(payment, within)).toMatchObject({ outcome: 'refused' });
    expect(await network.find(payment, within)).toEqual({ state: 'absent', gone: false });
  });
});

describe('a facilitator that lies', () => {
  test.each(Object.keys(LIES) as (keyof typeof LIES)[])('%s: no payment is credited', async (lie) => {
    const payment = await readOn(network, await signedOn(chain));
    facilitator.behave(lie);
    const outcome = await network.settle(payment, within);
    expect(outcome.outcome).toMatch(/^(sent|unknown|refused)$/);
    const transaction = 'transaction' in outcome ? outcome.transaction : undefined;
    expect(await network.find(payment, within, transaction)).toEqual({ state: 'absent', gone: false });
  });

  test.each(Object.keys(MUDDLES) as (keyof typeof MUDDLES)[])(
    '%s: the outcome is not refused, and the chain shows the payment',
    async (muddle) => {
      const before = await chain.balanceOf(PAYEE);
      const payment = await readOn(network, await signedOn(chain));
      facilitator.behave(muddle);
      const outcome = await network.settle(payment, within);
      expect(outcome.outcome).toMatch(/^(sent|unknown)$/);
      const transaction = 'transaction' in outcome ? outcome.transaction : undefined;
      const found = () => network.find(payment, within, transaction);
      await expect.poll(found).toMatchObject({ state: 'final', amount: '10000000' });
      expect(await chain.balanceOf(PAYEE)).toBe(before + 10n * DOLLAR);
    },
  );

  test.each((Object.keys(SILENCES) as (keyof typeof SILENCES)[]).filter((silence) => silence !== 'hangs'))(
    '%s: the facilitator is called once, and the outcome stays unknown',
    async (silence) => {
      const payment = await readOn(network, await signedOn(chain));
      facilitator.behave(silence);
      const { settle } = facilitator.counts;
      const { outcome } = await network.settle(payment, within);
      expect(outcome).toBe(silence === 'answers 429' ? 'refused' : 'unknown');
      expect(facilitator.counts.settle).toBe(settle + 1);
      expect(await network.find(payment, within)).toEqual({ state: 'absent', gone: false });
    },
  );

  test("a silent facilitator is aborted at the caller's deadline", async () => {
    const payment = await readOn(network, await signedOn(chain));
    facilitator.behave('hangs');
    await expect(network.settle(payment, AbortSignal.timeout(100))).rejects.toThrow(/timeout|aborted/i);
  });

  test('an unreachable facilitator has certainly settled nothing', async () => {
    const gone = networkOn(chain, { facilitatorUrl: 'http://127.0.0.1:9', feePayerKeyEnv: undefined });
    const payment = await readOn(gone, await signedOn(chain));
    expect(await gone.settle(payment, within)).toMatchObject({ outcome: 'refused' });
    await gone.close?.();
  });
});

test('verifies a payment against the chain, never against the facilitator', async () => {
  const { settle, verify } = facilitator.counts;
  facilitator.verifies('nothing');
  await network.verify(await readOn(network, await signedOn(chain)), within);
  facilitator.verifies('everything');
  const poor = await signedOn(chain, { value: 10n * DOLLAR });
  const other = await signedOn(chain);
  const forged = await readOn(network, { ...poor, signature: other.signature });
  await expect(network.verify(forged, within)).rejects.toMatchObject({ code: 'PAYMENT_VERIFICATION_FAILED' });
  expect(facilitator.counts).toMatchObject({ settle, verify });
});

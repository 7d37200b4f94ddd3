import { x402Client } from '@x402/core/client';
import { encodePaymentSignatureHeader } from '@x402/core/http';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEnvelope } from '../../../../domain/payments/readEnvelope.ts';
import { createPaymentNetworks, paymentNetworkNamed } from '../../../../providers/payments/createPaymentNetworks.ts';
import type { PaymentNetwork } from '../../../../providers/payments/paymentNetwork.ts';
import { type EvmChain, startEvmChain } from '../../../chains/evmChain.ts';
import { DOLLAR, FEE_KEY, settingsOn } from './signedPayments.ts';

const TOP_UP = 'http://127.0.0.1:8080/api/v1/x402/top-up';
const within = AbortSignal.timeout(600_000);

let chain: EvmChain;
let networks: ReadonlyMap<string, PaymentNetwork>;

beforeAll(async () => {
  chain = await startEvmChain();
  networks = createPaymentNetworks({ x402: { networks: [settingsOn(chain)] }, secret: () => FEE_KEY });
});

afterAll(async () => {
  await Promise.all([...networks.values()].map((network) => network.close?.()));
  await chain.stop();
});

test('accepts and settles what the reference client signs for our offer', async () => {
  const offers = await Promise.all([...networks.values()].map((network) => network.offer('5000000')));
  const payer = await chain.newWallet(6n * DOLLAR);
  const client = new x402Client().setSpendControls({ allowedAssets: true });
  registerExactEvmScheme(client, { signer: payer });
  const payload = await client.createPaymentPayload({
    x402Version: 2,
    resource: { url: TOP_UP, description: 'a top-up', mimeType: 'application/json' },
    accepts: offers.map((offer) => ({ ...offer, network: offer.network as `${string}:${string}` })),
  });
  const reading = readEnvelope(encodePaymentSignatureHeader(payload), [TOP_UP]);
  if (!reading.ok) throw new Error(reading.refusal.message);
  const network = paymentNetworkNamed(networks, reading.envelope.network);
  if (network === undefined) throw new Error('no such network');
  const payment = await network.read(reading.envelope, Date.now());
  expect(payment).toMatchObject({ amount: '5000000', payer: { address: payer.address.toLowerCase() } });
  await network.verify(payment, within);
  expect(await network.settle(payment, within)).toMatchObject({ outcome: 'sent' });
  const found = () => network.find(payment, within);
  await expect.poll(found).toMatchObject({ state: 'final', amount: '5000000' });
});

test('finds networks by every name that clients use, and by no other', () => {
  for (const name of [chain.network, 'base-sepolia']) {
    expect(paymentNetworkNamed(networks, name)?.network).toBe(chain.network);
  }
  for (const name of ['base', 'eip155:8453', 'Base-Sepolia', '', 'constructor', 'solana']) {
    expect(paymentNetworkNamed(networks, name)).toBeUndefined();
  }
});

test('opens no network without a key', () => {
  for (const key of [undefined, '', '0x12', 'no key']) {
    const configuration = { x402: { networks: [settingsOn(chain)] }, secret: () => key };
    expect(() => createPaymentNetworks(configuration)).toThrow('FEE_KEY holds no private key');
  }
});

/** Payments of wallets on a test chain, and the networks that accept them. */
import type { PrivateKeyAccount } from 'viem';
import type { PaymentEnvelope } from '../../../../domain/payments/envelope.ts';
import type { PaymentNetworkSettings } from '../../../../domain/payments/networkSettings.ts';
import { createEvmPayments } from '../../../../providers/payments/evm/createEvmPayments.ts';
import type { PaymentNetwork } from '../../../../providers/payments/paymentNetwork.ts';
import type { Authorization, EvmChain } from '../../../chains/evmChain.ts';

export const DOLLAR = 1_000_000n;
/** anvil's second account, which pays the fees. */
export const FEE_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
/** An address without an owner. */
export const PAYEE = `0x${'cafe'.repeat(10)}` as const;

export function settingsOn(
  chain: Pick<EvmChain, 'network' | 'usdc' | 'rpcUrl'>,
  some: Partial<PaymentNetworkSettings> = {},
): PaymentNetworkSettings {
  return {
    network: chain.network,
    family: 'evm',
    asset: chain.usdc.toLowerCase(),
    assetName: 'USD Coin',
    assetVersion: '2',
    payTo: PAYEE,
    rpcUrls: [chain.rpcUrl],
    confirmations: 0,
    facilitatorUrl: undefined,
    feePayerKeyEnv: 'FEE_KEY',
    feeBudgetPerDay: 1,
    allowPrivateNetwork: true,
    ...some,
  };
}

export function networkOn(
  chain: Pick<EvmChain, 'network' | 'usdc' | 'rpcUrl'>,
  some: Partial<PaymentNetworkSettings> = {},
  callTimeoutMs = 4_000,
): PaymentNetwork {
  const secret = (name: string) => (name === 'FEE_KEY' ? FEE_KEY : undefined);
  return createEvmPayments(settingsOn(chain, some), { secret, callTimeoutMs });
}

export interface Signed {
  payer: PrivateKeyAccount;
  authorization: Authorization;
  signature: `0x${string}`;
}

/** Signs with a new wallet that holds twice the amount. */
export async function signedOn(chain: EvmChain, some: Partial<Authorization> = {}): Promise<Signed> {
  const value = some.value ?? 10n * DOLLAR;
  const payer = await chain.newWallet(2n * value);
  const now = BigInt(Math.floor(Date.now() / 1000));
  const window = { validAfter: 0n, validBefore: now + 300n };
  const terms = { from: payer.address, to: PAYEE, value, ...window, ...some };
  const authorization = await chain.authorization(terms);
  return { payer, authorization, signature: await chain.sign(payer, authorization) };
}

/** Payload as clients write it: checksum addresses, decimal strings as numbers. */
export function payloadOf({ authorization, signature }: Omit<Signed, 'payer'>) {
  const { value, validAfter, validBefore, ...rest } = authorization;
  return {
    signature,
    authorization: {
      ...rest,
      value: String(value),
      validAfter: String(validAfter),
      validBefore: String(validBefore),
    },
  };
}

export async function envelopeOf(network: PaymentNetwork, signed: Signed): Promise<PaymentEnvelope> {
  const accepted = await network.offer(String(signed.authorization.value));
  const payload = payloadOf(signed);
  return {
    ...{ x402Version: 2, scheme: 'exact', network: network.network, accepted, payload },
    resourceUrl: undefined,
  };
}

export async function readOn(network: PaymentNetwork, signed: Signed) {
  return await network.read(await envelopeOf(network, signed), Date.now());
}

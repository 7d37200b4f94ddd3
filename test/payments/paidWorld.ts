/** Configuration and headers for payments of wallets on a chain with the test dollar. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { EvmChain } from '../chains/evmChain.ts';
import { services } from '../harness/services.ts';
import { FEE_KEY, PAYEE, payloadOf, type Signed } from '../providers/payments/evm/signedPayments.ts';

export const PAYMENT_HEADERS = ['PAYMENT-SIGNATURE', 'X-402-Payment', 'X-PAYMENT'] as const;

export interface PaidOptions {
  confirmations?: number;
  facilitatorUrl?: string;
  perAddressPerMinute?: number;
}

/** Configuration of a deployment with payments. It settles by itself unless a facilitator is named. */
export function paidConfig(chain: EvmChain, options: PaidOptions = {}) {
  const { facilitatorUrl, confirmations = 0, perAddressPerMinute = 1_000_000_000 } = options;
  return {
    limits: { perAddressPerMinute },
    x402: {
      networks: [
        {
          ...{ network: chain.network, asset: chain.usdc, payTo: PAYEE, rpcUrl: chain.rpcUrl, confirmations },
          ...(facilitatorUrl ? { facilitatorUrl } : { feePayerKeyEnv: 'FEE_KEY' }),
          allowPrivateNetwork: true,
        },
      ],
    },
  };
}

/** Environment of every process of that deployment. */
export function paidEnvironment(config: object): Record<string, string> {
  const file = path.join(services().folder, `paid-${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(config));
  return { FAREBOX_CONFIG: file, FEE_KEY };
}

/** Header of x402 version 2. */
export function headerOf(chain: EvmChain, signed: Signed): string {
  const accepted = {
    ...{ scheme: 'exact', network: chain.network, amount: String(signed.authorization.value) },
    ...{ asset: chain.usdc, payTo: PAYEE, maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } },
  };
  return encode({ x402Version: 2, accepted, payload: payloadOf(signed) });
}

/** Flat header of older clients. */
export function legacyHeaderOf(signed: Signed): string {
  return encode({ x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: payloadOf(signed) });
}

export function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

export function decode(header: string | null): unknown {
  return JSON.parse(Buffer.from(header ?? '', 'base64').toString());
}

/** The part of an answer that each repeated presentation gets: all but the balance. */
export function asRepeated(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('data' in body)) return body;
  const { newBalance: _, ...data } = body.data as Record<string, unknown>;
  return { ...body, data };
}

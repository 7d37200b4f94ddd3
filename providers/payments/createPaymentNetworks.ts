/** Opens the configured payment networks. */
import type { PaymentNetworkSettings } from '../../domain/payments/networkSettings.ts';
import type { WalletFamily } from '../../domain/wallets.ts';
import { createEvmPayments } from './evm/createEvmPayments.ts';
import { createEvmTransfers } from './evm/readTransfers.ts';
import type { PaymentNetwork, TransferReader } from './paymentNetwork.ts';
import { createSolanaPayments } from './solana/createSolanaPayments.ts';
import { createSolanaTransfers } from './solana/readTransfers.ts';

export interface PaymentConfiguration {
  x402: { networks: readonly PaymentNetworkSettings[] };
  /** Value of an environment variable that an entry names; undefined if unset. */
  secret(name: string): string | undefined;
}

type Opener = (settings: PaymentNetworkSettings, tools: Pick<PaymentConfiguration, 'secret'>) => PaymentNetwork;

const OPENERS: Record<WalletFamily, Opener> = {
  evm: createEvmPayments,
  solana: createSolanaPayments,
};

/** Key: CAIP-2 name, in the order of the configuration. Empty: payments are disabled. */
export function createPaymentNetworks({ x402, secret }: PaymentConfiguration): ReadonlyMap<string, PaymentNetwork> {
  return new Map(
    x402.networks.map((settings) => {
      const open = OPENERS[settings.family];
      return [settings.network, open(settings, { secret })];
    }),
  );
}

/** `spelling`: as a client sent it. Undefined: not a configured network. */
export function paymentNetworkNamed(
  networks: ReadonlyMap<string, PaymentNetwork>,
  spelling: string,
): PaymentNetwork | undefined {
  return networks.get(spelling) ?? [...networks.values()].find(({ names }) => names.includes(spelling));
}

/** Needs the nodes of the network, but no key. */
export function createTransferReader(settings: PaymentNetworkSettings): TransferReader {
  return settings.family === 'evm' ? createEvmTransfers(settings) : createSolanaTransfers(settings);
}

/** Payment network, as the operator configured it. */
import type { WalletFamily } from '../wallets.ts';

export interface PaymentNetworkSettings {
  /** CAIP-2. */
  network: string;
  family: WalletFamily;
  /** The token's contract, or its mint. */
  asset: string;
  /** Name and version of the token's EIP-712 domain, sent in `extra`. */
  assetName: string;
  assetVersion: string;
  /** Recipient of the payments. */
  payTo: string;
  /** At least one; a receipt counts when they agree on it. */
  rpcUrls: readonly string[];
  /** Blocks (evm), or slots (Solana), on top of the one that the payment is in. */
  confirmations: number;
  /** Undefined: this service settles and pays the fee with the key below. */
  facilitatorUrl: string | undefined;
  /** Environment variable with the private key of the fee payer. */
  feePayerKeyEnv: string | undefined;
  /** Daily budget of that key, in the network's own coin, for payments without a credit. */
  feeBudgetPerDay: number;
  allowPrivateNetwork: boolean;
}

/** Decimals of the coin in which a network's fees are paid. */
const COIN_DECIMALS: Record<WalletFamily, number> = { evm: 18, solana: 9 };

const BUDGET_DECIMALS = 9;

/** The budget in the coin's smallest units. */
export function feeBudgetUnits({
  family,
  feeBudgetPerDay,
}: Pick<PaymentNetworkSettings, 'family' | 'feeBudgetPerDay'>): bigint {
  const billionths = BigInt(Math.round(feeBudgetPerDay * 10 ** BUDGET_DECIMALS));
  return billionths * 10n ** BigInt(COIN_DECIMALS[family] - BUDGET_DECIMALS);
}

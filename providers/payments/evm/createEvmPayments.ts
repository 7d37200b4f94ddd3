/** Payments in a token with EIP-3009 (USDC) on an EVM chain: the payer signs, another party submits and pays. */
import type { Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { feeBudgetUnits, type PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { createFacilitator } from '../facilitator.ts';
import { type ChainNode, NodeSilent } from '../nodes/chainNode.ts';
import type { PaymentNetwork, PaymentRequirement, Settler } from '../paymentNetwork.ts';
import { type Chain, createChain } from './chain.ts';
import { findPayment } from './findPayment.ts';
import { createOwnSettler } from './ownSettler.ts';
import { readPayment } from './readPayment.ts';
import { decimalsOf } from './token.ts';
import { verifyPayment } from './verifyPayment.ts';

export interface EvmTools {
  /** Value of an environment variable; undefined if unset or empty. */
  secret(name: string): string | undefined;
  /** Time limit of one call to a node. */
  callTimeoutMs?: number;
}

/** Names of version 1 of x402. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'eip155:8453': ['base'],
  'eip155:84532': ['base-sepolia'],
  'eip155:137': ['polygon'],
  'eip155:80002': ['polygon-amoy'],
  'eip155:43114': ['avalanche'],
  'eip155:43113': ['avalanche-fuji'],
};
const DECIMALS = 6;
const OFFER_SECONDS = 300;

/** Throws if the fee key is missing; configuration checks report that earlier. */
export function createEvmPayments(settings: PaymentNetworkSettings, tools: EvmTools): PaymentNetwork {
  const { network, assetName, assetVersion, asset, payTo } = settings;
  const names = NAMES[network] ?? [];
  const prove = (node: ChainNode) => mustBeDollar(node, asset as Hex);
  const { callTimeoutMs } = tools;
  const chain = createChain({
    ...settings,
    prove,
    ...(callTimeoutMs === undefined ? {} : { callTimeoutMs }),
  });
  const offer = (amount: string): PaymentRequirement => ({
    ...{ scheme: 'exact', network, amount, asset, payTo },
    maxTimeoutSeconds: OFFER_SECONDS,
    extra: { name: assetName, version: assetVersion },
  });
  const { settler, feePayer } = openSettler({ chain, settings, tools, offer });
  return {
    network,
    names,
    decimals: DECIMALS,
    offer: async (amount) => offer(amount),
    read: (envelope, nowMs) => readPayment({ settings, names, decimals: DECIMALS, offer }, envelope, nowMs),
    verify: (payment, signal) => verifyPayment({ chain, settings, feePayer }, payment, signal),
    feeBudget: feeBudgetUnits(settings),
    settle: (payment, signal, terms) => settler.settle(payment, signal, terms),
    find: (payment, signal, transaction) => findPayment({ chain, settings }, payment, { signal, transaction }),
    async close() {
      await Promise.all([settler.close(), chain.close()]);
    },
  };
}

interface SettlerNeeds {
  chain: Chain;
  settings: PaymentNetworkSettings;
  tools: EvmTools;
  offer(amount: string): PaymentRequirement;
}

/** `feePayer` is undefined if a facilitator pays the fees. */
function openSettler({ chain, settings, tools, offer }: SettlerNeeds): {
  settler: Settler;
  feePayer: Hex | undefined;
} {
  const { facilitatorUrl: url, allowPrivateNetwork } = settings;
  if (url === undefined) {
    const account = privateKeyToAccount(privateKeyOf(settings, tools));
    return { settler: createOwnSettler({ chain, settings, account }), feePayer: account.address };
  }
  const settler = createFacilitator({
    ...{ url, allowPrivateNetwork },
    requirementOf: ({ amount }) => offer(amount),
    toTransaction: (text) => (/^0x[0-9a-fA-F]{64}$/.test(text) ? text.toLowerCase() : undefined),
  });
  return { settler, feePayer: undefined };
}

function privateKeyOf({ feePayerKeyEnv }: PaymentNetworkSettings, { secret }: EvmTools): Hex {
  const key = feePayerKeyEnv === undefined ? undefined : secret(feePayerKeyEnv)?.trim();
  if (key === undefined || !/^(0x)?[0-9a-fA-F]{64}$/.test(key)) {
    throw new Error(`${feePayerKeyEnv ?? 'feePayerKeyEnv'} holds no private key`);
  }
  return `0x${key.replace(/^0x/, '')}`;
}

/** Other decimals would change the value of every payment. */
async function mustBeDollar(node: ChainNode, asset: Hex): Promise<void> {
  const decimals = await decimalsOf(node, asset);
  if (decimals !== DECIMALS) throw new NodeSilent(`the token has ${decimals} decimals`);
}

/** Payments in an SPL token (USDC) on Solana: the payer signs a transfer, another party pays the fee and submits. */
import { isAddress, isSignature } from '@solana/kit';
import { feeBudgetUnits, type PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { SOLANA_MAINNET } from '../../../domain/wallets.ts';
import { createFacilitator } from '../facilitator.ts';
import { type ChainNode, NodeSilent } from '../nodes/chainNode.ts';
import { createRpcNodes, type RpcNodes } from '../nodes/rpcNodes.ts';
import type { PaymentNetwork, PaymentRequirement, Settler } from '../paymentNetwork.ts';
import { type FeeKey, readFeeKey } from './feeKey.ts';
import { type FeePayers, facilitatorFeePayers } from './feePayers.ts';
import { findPayment } from './findPayment.ts';
import { isPlainMint } from './mint.ts';
import { createOwnSettler } from './ownSettler.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './programs.ts';
import { readAccounts } from './readNode.ts';
import { readPayment, transactionOf } from './readPayment.ts';
import { verifyPayment } from './verifyPayment.ts';

export interface SolanaTools {
  /** Value of an environment variable; undefined if unset or empty. */
  secret(name: string): string | undefined;
  /** Time limit of one call to a node. */
  callTimeoutMs?: number;
}

/** Names of version 1 of x402. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  [SOLANA_MAINNET]: ['solana'],
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': ['solana-devnet'],
  'solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z': ['solana-testnet'],
};
const DECIMALS = 6;
const OFFER_SECONDS = 300;
const REFERENCE_CHARACTERS = 32;

/** Throws if an address or the fee key is invalid; configuration checks report that earlier. */
export function createSolanaPayments(settings: PaymentNetworkSettings, tools: SolanaTools): PaymentNetwork {
  const { network, assetName, assetVersion, asset, payTo } = settings;
  if (!isAddress(asset) || !isAddress(payTo)) throw new Error(`${network}: asset or payTo is no address`);
  const names = NAMES[network] ?? [];
  const nodes = createRpcNodes({
    ...{ network, urls: settings.rpcUrls, allowPrivateNetwork: settings.allowPrivateNetwork },
    callTimeoutMs: tools.callTimeoutMs,
    prove: (node) => requireChain(node, settings),
  });
  const offer = (amount: string, feePayer: string): PaymentRequirement => ({
    ...{ scheme: 'exact', network, amount, asset, payTo },
    maxTimeoutSeconds: OFFER_SECONDS,
    extra: { name: assetName, version: assetVersion, feePayer },
  });
  const { feePayers, settler, key } = openFeePayment({ settings, names, nodes, offer, tools });
  const common = { nodes, settings, decimals: DECIMALS, isOwnFee: key !== undefined };
  return {
    ...{ network, names, decimals: DECIMALS },
    offer: async (amount) => offer(amount, await feePayers.offered()),
    read: (envelope, nowMs) => readPayment({ ...common, names, feePayers, offer }, envelope, nowMs),
    verify: (payment, signal) => verifyPayment(common, payment, signal),
    feeBudget: feeBudgetUnits(settings),
    settle: (payment, signal, terms) => settler.settle(payment, signal, terms),
    find: (payment, signal, transaction) =>
      findPayment({ nodes, settings, decimals: DECIMALS, key }, payment, { signal, transaction }),
    async close() {
      await Promise.all([settler.close(), nodes.close()]);
    },
  };
}

interface FeePayment {
  feePayers: FeePayers;
  settler: Settler;
  key: FeeKey | undefined;
}

interface FeePaymentOptions {
  settings: PaymentNetworkSettings;
  names: readonly string[];
  nodes: RpcNodes;
  offer(amount: string, feePayer: string): PaymentRequirement;
  tools: SolanaTools;
}

function openFeePayment({ settings, names, nodes, offer, tools }: FeePaymentOptions): FeePayment {
  const { facilitatorUrl: url, network, allowPrivateNetwork } = settings;
  if (url === undefined) {
    const key = feeKeyOf(settings, tools);
    const feePayers = {
      offered: async () => key.address,
      has: async (address: string) => address === key.address,
    };
    return { feePayers, settler: createOwnSettler({ nodes, key }), key };
  }
  const facilitator = createFacilitator({
    ...{ url, allowPrivateNetwork },
    requirementOf: (payment) => offer(payment.amount, transactionOf(payment).feePayer),
    toTransaction: (text) => (isSignature(text) ? text : undefined),
  });
  const feePayers = facilitatorFeePayers(facilitator, [network, ...names]);
  return { feePayers, settler: facilitator, key: undefined };
}

function feeKeyOf({ feePayerKeyEnv, payTo }: PaymentNetworkSettings, { secret }: SolanaTools): FeeKey {
  const text = feePayerKeyEnv === undefined ? undefined : secret(feePayerKeyEnv);
  const key = text === undefined ? undefined : readFeeKey(text);
  if (key === undefined) throw new Error(`${feePayerKeyEnv ?? 'feePayerKeyEnv'} holds no private key`);
  // The fee payer must not take part in a payment, or it could be made to sign away its own funds.
  if (key.address === payTo) throw new Error(`${feePayerKeyEnv} is the key of payTo: fees need a key of their own`);
  return key;
}

/** Checks the chain by its first block, and the token's decimals, which decide the value of every payment. */
export async function requireChain(
  node: ChainNode,
  { network, asset }: Pick<PaymentNetworkSettings, 'network' | 'asset'>,
): Promise<void> {
  const genesis = await node.call('getGenesisHash', []);
  const reference = typeof genesis === 'string' ? genesis.slice(0, REFERENCE_CHARACTERS) : '';
  if (`solana:${reference}` !== network) throw new NodeSilent('it is on another chain');
  const [mint] = await readAccounts(node, [asset]);
  const isToken = mint?.owner === TOKEN_PROGRAM || mint?.owner === TOKEN_2022_PROGRAM;
  if (mint === undefined || !isToken || !isPlainMint(mint.data, DECIMALS)) {
    throw new NodeSilent(`the token is none of ${DECIMALS} decimals whose transfers move what they say`);
  }
}

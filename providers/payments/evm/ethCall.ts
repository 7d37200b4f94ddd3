/** Contract calls for sign-ins with contract wallets, limited in gas, size and time. */
import type { Hex } from 'viem';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import type { ChainNode } from '../nodes/chainNode.ts';
import { ChainUnavailable } from '../paymentNetwork.ts';
import { bytes, CallReverted, type Chain, createChain } from './chain.ts';

interface ContractCall {
  /** Undefined: `data` is code that runs without deployment. */
  to?: Hex;
  data: Hex;
  gas: bigint;
}

type ContractAnswer = { ok: true; data: Hex } | { ok: false };

export interface EthCalls {
  /**
   * `network`: CAIP-2. Not ok: the contract reverted, ran out of gas, or returned too much. Throws ChainUnavailable if
   * the network has no node, too few answer, or they disagree.
   */
  ethCall(network: string, call: ContractCall, signal: AbortSignal): Promise<ContractAnswer>;
  close(): Promise<void>;
}

const MAX_GAS = 10_000_000n;
const MAX_ANSWER_CHARACTERS = 2 + 2 * 8_192;

export function createEthCalls(networks: readonly PaymentNetworkSettings[]): EthCalls {
  const chains = new Map<string, Chain>(
    networks.filter(({ family }) => family === 'evm').map((settings) => [settings.network, createChain(settings)]),
  );
  return {
    async ethCall(network, call, signal) {
      const chain = chains.get(network);
      if (chain === undefined) throw new ChainUnavailable(`no node of ${network} is configured`);
      return chain.agreed((node) => answerOf(node, call), signal);
    },
    async close() {
      await Promise.all([...chains.values()].map((chain) => chain.close()));
    },
  };
}

async function answerOf(node: ChainNode, { to, data, gas }: ContractCall): Promise<ContractAnswer> {
  const limit = `0x${(gas < MAX_GAS ? gas : MAX_GAS).toString(16)}`;
  const transaction = { ...(to === undefined ? {} : { to }), data, gas: limit };
  try {
    const answer = bytes(await node.call('eth_call', [transaction, 'latest']));
    return answer.length > MAX_ANSWER_CHARACTERS ? { ok: false } : { ok: true, data: answer };
  } catch (error) {
    if (error instanceof CallReverted) return { ok: false };
    throw error;
  }
}

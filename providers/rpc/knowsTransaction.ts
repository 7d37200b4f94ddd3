/** Checks whether a network knows a transaction. Asks every node, because they learn of it at different times. */
import type { RpcFamily } from '../../domain/rpc/networks.ts';
import { ownCall, type RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { memberOf } from './heights.ts';
import type { RpcFleet } from './rpcFleet.ts';
import { type RpcOutcome, textOf } from './rpcUpstreams.ts';

const MAX_MS = 5_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** TXN_HASH_NOT_FOUND of the Starknet API. */
const STARKNET_UNKNOWN = 29;

const QUESTIONS: Record<RpcFamily, (hash: string) => RpcCalls> = {
  evm: (hash) => ownCall('eth_getTransactionByHash', [hash]),
  starknet: (hash) => ownCall('starknet_getTransactionStatus', [hash]),
  solana: (hash) => ownCall('getSignatureStatuses', [[hash], { searchTransactionHistory: true }]),
};

/** True as soon as one node knows it; false if all say no; undefined if unclear. */
export async function knowsTransaction(
  fleet: RpcFleet,
  hash: string,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const call = QUESTIONS[fleet.family](hash);
  const asking = { signal, timeoutMs: MAX_MS, maxBytes: MAX_BYTES };
  const nodes = fleet.nodes.filter((node) => fleet.heights.unfit(node) !== 'foreign');
  const running = nodes.map((node) => node.ask(call, asking));
  const known = await Promise.all(
    running.map(async ({ done }) => {
      const knows = readKnown(fleet.family, (await done).outcomes[0]);
      if (knows) for (const other of running) other.stop();
      return knows;
    }),
  );
  signal.throwIfAborted();
  if (known.includes(true)) return true;
  return known.length > 0 && known.every((each) => each === false) ? false : undefined;
}

function readKnown(family: RpcFamily, outcome: RpcOutcome | undefined): boolean | undefined {
  if (outcome?.kind === 'error' && family === 'starknet') {
    return memberOf(JSON.parse(outcome.value), 'code') === STARKNET_UNKNOWN ? false : undefined;
  }
  if (outcome?.kind !== 'result') return undefined;
  const answer: unknown = JSON.parse(textOf(outcome));
  if (family !== 'solana') return answer !== null;
  const statuses = memberOf(answer, 'value');
  return Array.isArray(statuses) && statuses.length > 0 ? statuses[0] !== null : undefined;
}

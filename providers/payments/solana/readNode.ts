/** Reads replies of Solana nodes and checks their shape. */
import { z } from 'zod';
import { type ChainNode, checkAnswer } from '../nodes/chainNode.ts';

const MAX_ACCOUNTS = 256;
const MAX_SIGNATURES = 1_000;

const slot = z.number().int().nonnegative();
const fault = z.union([z.string(), z.record(z.string(), z.unknown())]).nullable();
const base64Pair = z.tuple([z.string(), z.literal('base64')]);
const account = z.object({ data: base64Pair, owner: z.string() }).nullable();
const tokenBalance = z.object({
  accountIndex: z.number().int().nonnegative(),
  mint: z.string(),
  owner: z.string().optional(),
  programId: z.string().optional(),
  uiTokenAmount: z.object({ amount: z.string().regex(/^[0-9]{1,20}$/) }),
});
const tokenBalances = z.array(tokenBalance).max(MAX_ACCOUNTS);
const transaction = z
  .object({
    slot,
    transaction: base64Pair,
    meta: z.object({
      err: fault,
      preTokenBalances: tokenBalances.nullish().transform((list) => list ?? []),
      postTokenBalances: tokenBalances.nullish().transform((list) => list ?? []),
    }),
  })
  .nullable();
const signatures = z
  .array(z.object({ signature: z.string(), slot, blockTime: z.number().nullable() }))
  .max(MAX_SIGNATURES);
const trial = z.object({ value: z.object({ err: fault }) });
const latest = z.object({ value: z.boolean() });

export type ChainAccount = { owner: string; data: Buffer };
export type ChainTransaction = NonNullable<z.output<typeof transaction>>;
export type TokenBalance = z.output<typeof tokenBalance>;
export type Commitment = 'confirmed' | 'finalized';

export async function readSlot(node: ChainNode, commitment: Commitment): Promise<number> {
  return checkAnswer(slot, await node.call('getSlot', [{ commitment }]));
}

/** Unix seconds; undefined if the node does not know the time. */
export async function readBlockTime(node: ChainNode, at: number): Promise<number | undefined> {
  return checkAnswer(z.number().nullable(), await node.call('getBlockTime', [at])) ?? undefined;
}

export async function isBlockhashValid(node: ChainNode, blockhash: string, commitment: Commitment): Promise<boolean> {
  return checkAnswer(latest, await node.call('isBlockhashValid', [blockhash, { commitment }])).value;
}

/** In the order of the addresses; undefined for a missing account. */
export async function readAccounts(
  node: ChainNode,
  addresses: readonly string[],
): Promise<(ChainAccount | undefined)[]> {
  const options = { encoding: 'base64', commitment: 'confirmed' };
  const { value } = checkAnswer(
    z.object({ value: z.array(account).length(addresses.length) }),
    await node.call('getMultipleAccounts', [addresses, options]),
  );
  return value.map((one) =>
    one === null ? undefined : { owner: one.owner, data: Buffer.from(one.data[0], 'base64') },
  );
}

/** Reason why the transaction would fail; null if it would pass. */
export async function simulateTransaction(node: ChainNode, wire: string): Promise<z.output<typeof fault>> {
  const options = {
    ...{ encoding: 'base64', commitment: 'confirmed' },
    ...{ sigVerify: false, replaceRecentBlockhash: false },
  };
  return checkAnswer(trial, await node.call('simulateTransaction', [wire, options])).value.err;
}

/** Undefined: not in a block of that commitment. */
export async function readTransaction(
  node: ChainNode,
  signature: string,
  commitment: Commitment,
): Promise<ChainTransaction | undefined> {
  const options = { encoding: 'base64', commitment, maxSupportedTransactionVersion: 0 };
  return checkAnswer(transaction, await node.call('getTransaction', [signature, options])) ?? undefined;
}

/** Newest first. */
export async function readSignatures(
  node: ChainNode,
  address: string,
  page: { limit: number; before: string | undefined },
): Promise<z.output<typeof signatures>> {
  const { limit, before } = page;
  const options = { limit, commitment: 'confirmed', ...(before === undefined ? {} : { before }) };
  return checkAnswer(signatures, await node.call('getSignaturesForAddress', [address, options]));
}

/** Whether the node knows the signature, in any block, also an old one. */
export async function isSignatureKnown(node: ChainNode, signature: string): Promise<boolean> {
  const answer = await node.call('getSignatureStatuses', [[signature], { searchTransactionHistory: true }]);
  const { value } = checkAnswer(z.object({ value: z.array(z.object({ slot }).nullable()).length(1) }), answer);
  return value[0] !== null;
}

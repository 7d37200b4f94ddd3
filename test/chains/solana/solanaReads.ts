/** Methods that read the chain, in the shapes of the Solana JSON-RPC API (solana.com/docs/rpc/http). */
import { type Address, getBase64Decoder, isAddress } from '@solana/kit';
import { getMintDecoder } from '@solana-program/token';
import {
  API_VERSION,
  addressAt,
  bytesOf,
  commitmentOf,
  inContext,
  invalidParams,
  optionsAt,
  type Params,
  RpcFault,
  type RpcMethod,
  textAt,
} from './rpcCall.ts';
import { base58, readSubmission, type SolanaChain } from './solanaChain.ts';
import { tokenAccount, uiAmount } from './solanaMeta.ts';

const MINT_BYTES = 82;
const MAX_ACCOUNTS = 100;
const MAX_SIGNATURES = 1_000;
const MAX_BYTES_IN_BASE58 = 128;
const SLOTS_PER_EPOCH = 432_000n;
/** Rent epoch of every account since accounts must be rent-exempt. */
const RENT_EPOCH = 18_446_744_073_709_551_615n;

export const READS: Readonly<Record<string, RpcMethod>> = {
  getHealth: () => 'ok',
  getVersion: () => ({ 'feature-set': 3_640_012_085, 'solana-core': API_VERSION }),
  getGenesisHash: (chain) => chain.genesisHash,
  getSlot: (chain, params) => chain.slot(commitmentOf(optionsAt(params, 0))),
  getBlockHeight: (chain, params) => chain.heightOf(chain.slot(commitmentOf(optionsAt(params, 0)))),
  getBlockTime: blockTime,
  getEpochInfo: epochInfo,
  getLatestBlockhash: (chain, params) => {
    const options = optionsAt(params, 0);
    return inContext(chain, options, chain.latestBlockhash(commitmentOf(options)));
  },
  isBlockhashValid: (chain, params) => {
    const options = optionsAt(params, 1);
    return inContext(chain, options, chain.isBlockhashValid(textAt(params, 0), commitmentOf(options)));
  },
  getFeeForMessage: feeForMessage,
  getRecentPrioritizationFees: (chain) => [{ slot: chain.slot('processed'), prioritizationFee: 0 }],
  getMinimumBalanceForRentExemption: (chain, params) => {
    const size = params[0];
    if (typeof size !== 'number' || size < 0) throw invalidParams('Invalid params: expected usize');
    return chain.svm.minimumBalanceForRentExemption(BigInt(size));
  },
  getBalance: (chain, params) =>
    inContext(chain, optionsAt(params, 1), chain.svm.getBalance(addressAt(params, 0)) ?? 0n),
  getAccountInfo: (chain, params) => {
    const options = optionsAt(params, 1);
    return inContext(chain, options, uiAccount(chain, addressAt(params, 0), options));
  },
  getMultipleAccounts: (chain, params) => {
    const addresses = params[0];
    if (!Array.isArray(addresses)) throw invalidParams('Invalid params: expected a sequence');
    if (addresses.length > MAX_ACCOUNTS) throw invalidParams(`Too many inputs provided; max ${MAX_ACCOUNTS}`);
    const options = optionsAt(params, 1);
    const accounts = addresses.map((_, index) => uiAccount(chain, addressAt(addresses, index), options));
    return inContext(chain, options, accounts);
  },
  getTokenAccountBalance: (chain, params) => {
    const token = tokenAccount(chain.svm, addressAt(params, 0));
    if (token === undefined) throw invalidParams('Invalid param: could not find account');
    return inContext(chain, optionsAt(params, 1), token.uiTokenAmount);
  },
  getTokenSupply: tokenSupply,
  getTokenAccountsByOwner: tokenAccountsByOwner,
  getSignaturesForAddress: signaturesForAddress,
  requestAirdrop: (chain, params) => {
    chain.airdrop(addressAt(params, 0), BigInt(Number(params[1])));
    return base58(new Uint8Array(64).fill(1));
  },
};

function blockTime(chain: SolanaChain, params: Params): number | null {
  const slot = params[0];
  if (typeof slot !== 'number') throw invalidParams('Invalid params: expected u64');
  if (BigInt(slot) > chain.slot('processed')) throw new RpcFault(-32004, `Block not available for slot ${slot}`);
  return chain.timeOf(BigInt(slot));
}

function epochInfo(chain: SolanaChain, params: Params): unknown {
  const slot = chain.slot(commitmentOf(optionsAt(params, 0)));
  return {
    absoluteSlot: slot,
    blockHeight: chain.heightOf(slot),
    epoch: slot / SLOTS_PER_EPOCH,
    slotIndex: slot % SLOTS_PER_EPOCH,
    slotsInEpoch: SLOTS_PER_EPOCH,
    transactionCount: chain.records.size,
  };
}

/** 5,000 lamports per signature. Null once the blockhash has expired. */
function feeForMessage(chain: SolanaChain, params: Params): unknown {
  const options = optionsAt(params, 1);
  const message = bytesOf(textAt(params, 0), 'base64');
  const wire = new Uint8Array([1, ...new Uint8Array(64), ...message]);
  const { message: decoded } = readSubmission(wire);
  const isValid = chain.isBlockhashValid(decoded.lifetimeToken, commitmentOf(options));
  return inContext(chain, options, isValid ? decoded.header.numSignerAccounts * 5_000 : null);
}

export function uiAccount(chain: SolanaChain, address: Address, options: Record<string, unknown>): unknown {
  const account = chain.svm.getAccount(address);
  if (!account.exists) return null;
  const { encoding = 'base58' } = options;
  const { lamports, executable, programAddress: owner } = account;
  return {
    data: encodedData(slice(account.data, options.dataSlice), encoding),
    executable,
    lamports,
    owner,
    rentEpoch: RENT_EPOCH,
    space: account.data.length,
  };
}

function slice(data: Readonly<Uint8Array>, part: unknown): Readonly<Uint8Array> {
  if (typeof part !== 'object' || part === null) return data;
  const { offset, length } = part as { offset: number; length: number };
  return data.slice(offset, offset + length);
}

/** `jsonParsed` becomes base64, as for programs that a node cannot parse. */
function encodedData(data: Readonly<Uint8Array>, encoding: unknown): unknown {
  if (encoding !== 'base58') return [getBase64Decoder().decode(data), 'base64'];
  if (data.length <= MAX_BYTES_IN_BASE58) return [base58(new Uint8Array(data)), 'base58'];
  throw new RpcFault(
    -32600,
    `Encoded binary (base 58) data should be less than ${MAX_BYTES_IN_BASE58} bytes, please use Base64 encoding.`,
  );
}

function tokenSupply(chain: SolanaChain, params: Params): unknown {
  const mint = chain.svm.getAccount(addressAt(params, 0));
  if (!mint.exists) throw invalidParams('Invalid param: could not find account');
  const { supply, decimals } = getMintDecoder().decode(mint.data.slice(0, MINT_BYTES));
  return inContext(chain, optionsAt(params, 1), uiAmount(supply, decimals));
}

function tokenAccountsByOwner(chain: SolanaChain, params: Params): unknown {
  const owner = addressAt(params, 0);
  const { mint, programId } = optionsAt(params, 1);
  const options = optionsAt(params, 2);
  const found = programsOf(chain, { mint, programId }).flatMap((program) =>
    chain.svm.getProgramAccounts(program).flatMap(({ address }) => {
      const token = tokenAccount(chain.svm, address);
      if (token?.owner !== owner || (mint !== undefined && token.mint !== mint)) return [];
      return [{ pubkey: address, account: uiAccount(chain, address, options) }];
    }),
  );
  return inContext(chain, options, found);
}

function programsOf(chain: SolanaChain, filter: { mint: unknown; programId: unknown }): Address[] {
  if (typeof filter.programId === 'string' && isAddress(filter.programId)) return [filter.programId];
  const mint = chain.svm.getAccount(addressAt([filter.mint], 0));
  if (!mint.exists) throw invalidParams('Invalid param: could not find mint');
  return [mint.programAddress];
}

/** Newest first. */
function signaturesForAddress(chain: SolanaChain, params: Params): unknown {
  const options = optionsAt(params, 1);
  const limit = Number(options.limit ?? MAX_SIGNATURES);
  if (!(limit >= 1 && limit <= MAX_SIGNATURES)) throw invalidParams(`Invalid limit; max ${MAX_SIGNATURES}`);
  const tip = chain.slot(commitmentOf(options));
  const newest = [...(chain.histories.get(addressAt(params, 0)) ?? [])].reverse();
  const from = typeof options.before === 'string' ? newest.indexOf(options.before) + 1 : 0;
  const until = typeof options.until === 'string' ? newest.indexOf(options.until) : -1;
  return newest
    .slice(from, until === -1 ? undefined : until)
    .flatMap((signature) => {
      const record = chain.records.get(signature);
      if (record === undefined || record.slot > tip) return [];
      const { slot, blockTime, fault: err } = record;
      const confirmationStatus = confirmationOf(chain, slot);
      return [{ signature, slot, blockTime, err, memo: null, confirmationStatus }];
    })
    .slice(0, limit);
}

export function confirmationOf(chain: SolanaChain, slot: bigint): string {
  if (slot <= chain.slot('finalized')) return 'finalized';
  return slot <= chain.slot('confirmed') ? 'confirmed' : 'processed';
}

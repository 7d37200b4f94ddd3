/** Metadata that a validator reports on an executed transaction: fee, logs, balances before and after. */
import { type Address, getBase58Decoder } from '@solana/kit';
import { getMintDecoder, getTokenDecoder, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import type { LiteSVM } from 'litesvm';
import { FailedTransactionMetadata, type TransactionFault, type TransactionMetadata } from './solanaErrors.ts';

export const TOKEN_2022_PROGRAM_ADDRESS = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address;

const TOKEN_ACCOUNT_BYTES = 165;
const MINT_BYTES = 82;

export interface UiTokenAmount {
  amount: string;
  decimals: number;
  uiAmount: number | null;
  uiAmountString: string;
}

export interface TokenBalance {
  accountIndex: number;
  mint: string;
  owner: string;
  programId: string;
  uiTokenAmount: UiTokenAmount;
}

export interface TransactionMeta {
  err: TransactionFault | null;
  status: { Ok: null } | { Err: TransactionFault };
  fee: bigint;
  computeUnitsConsumed: bigint;
  innerInstructions: unknown[];
  loadedAddresses: { readonly: string[]; writable: string[] };
  logMessages: string[];
  preBalances: bigint[];
  postBalances: bigint[];
  preTokenBalances: TokenBalance[];
  postTokenBalances: TokenBalance[];
  rewards: unknown[];
}

interface Balances {
  lamports: bigint[];
  tokens: TokenBalance[];
}

export function takeBalances(svm: LiteSVM, accounts: readonly Address[]): Balances {
  return {
    lamports: accounts.map((address) => svm.getBalance(address) ?? 0n),
    tokens: accounts.flatMap((address, accountIndex) => {
      const found = tokenAccount(svm, address);
      return found === undefined ? [] : [{ accountIndex, ...found }];
    }),
  };
}

interface Executed {
  before: Balances;
  after: Balances;
  result: TransactionMetadata | FailedTransactionMetadata;
  fault: TransactionFault | null;
}

export function transactionMeta({ before, after, result, fault }: Executed): TransactionMeta {
  const meta = result instanceof FailedTransactionMetadata ? result.meta() : result;
  return {
    err: fault,
    status: fault === null ? { Ok: null } : { Err: fault },
    // Only the fee leaves the accounts of a transaction.
    fee: sum(before.lamports) - sum(after.lamports),
    computeUnitsConsumed: meta.computeUnitsConsumed(),
    innerInstructions: innerInstructions(meta),
    loadedAddresses: { readonly: [], writable: [] },
    logMessages: meta.logs(),
    preBalances: before.lamports,
    postBalances: after.lamports,
    preTokenBalances: before.tokens,
    postTokenBalances: after.tokens,
    rewards: [],
  };
}

export function innerInstructions(meta: TransactionMetadata): unknown[] {
  return meta.innerInstructions().flatMap((inner, index) =>
    inner.length === 0
      ? []
      : [
          {
            index,
            instructions: inner.map((each) => ({
              programIdIndex: each.instruction().programIdIndex(),
              accounts: [...each.instruction().accounts()],
              data: getBase58Decoder().decode(each.instruction().data()),
              stackHeight: each.stackHeight(),
            })),
          },
        ],
  );
}

/** Undefined if there is no token account. */
export function tokenAccount(svm: LiteSVM, address: Address): Omit<TokenBalance, 'accountIndex'> | undefined {
  const account = svm.getAccount(address);
  if (!account.exists || !isTokenProgram(account.programAddress)) return undefined;
  if (account.data.length < TOKEN_ACCOUNT_BYTES) return undefined;
  const token = getTokenDecoder().decode(account.data.slice(0, TOKEN_ACCOUNT_BYTES));
  const mint = svm.getAccount(token.mint);
  if (!mint.exists) return undefined;
  const { decimals } = getMintDecoder().decode(mint.data.slice(0, MINT_BYTES));
  return {
    mint: token.mint,
    owner: token.owner,
    programId: account.programAddress,
    uiTokenAmount: uiAmount(token.amount, decimals),
  };
}

export function uiAmount(amount: bigint, decimals: number): UiTokenAmount {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const uiAmountString = fraction === '' ? whole : `${whole}.${fraction}`;
  return { amount: amount.toString(), decimals, uiAmount: Number(uiAmountString), uiAmountString };
}

function isTokenProgram(address: Address): boolean {
  return address === TOKEN_PROGRAM_ADDRESS || address === TOKEN_2022_PROGRAM_ADDRESS;
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

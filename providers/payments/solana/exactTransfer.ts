/**
 * Checks the instruction list of the exact scheme on Solana (x402 `scheme_exact_svm.md`, "Facilitator Verification
 * Rules (MUST)"). Stricter where it leaves room: the source is the payer's associated account, the total priority fee
 * is limited, and instructions have one fixed length. If this service pays the fee, Lighthouse checks are refused. They
 * can pass in simulation and fail a slot later, which costs the fee and moves nothing.
 */
import { type PaymentRefusalCode, PaymentRefused } from '../paymentNetwork.ts';
import type { Instruction, PaymentTransaction } from './decodeTransaction.ts';
import {
  COMPUTE_BUDGET_PROGRAM,
  LIGHTHOUSE_PROGRAM,
  MEMO_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
  tokenAccountOf,
} from './programs.ts';

export interface TransferTerms {
  mint: string;
  decimals: number;
  /** Owner of the receiving account. */
  payTo: string;
}

export interface PaymentTerms extends TransferTerms {
  /** Whether this service pays the fee, not a facilitator. */
  isOwnFee: boolean;
}

export interface Transfer {
  /** SPL Token or Token-2022. */
  program: string;
  payer: string;
  source: string;
  destination: string;
  /** Smallest units. */
  amount: bigint;
}

const MIN_INSTRUCTIONS = 3;
const MAX_INSTRUCTIONS = 6;

const SET_UNIT_LIMIT = 2;
const SET_UNIT_PRICE = 3;
const TRANSFER_CHECKED = 12;

/** Micro-lamports per unit: half a lamport. */
const MAX_UNIT_PRICE = 500_000n;
/** A transfer with two wallet checks and a memo needs under 100,000. The highest fee is 0.0001 SOL. */
const MAX_UNITS = 200_000;
const MAX_MEMO_BYTES = 256;

/** Throws PaymentRefused. `transaction.feePayer` must be a known fee payer. */
export async function readTransfer(transaction: PaymentTransaction, terms: PaymentTerms): Promise<Transfer> {
  const { instructions, feePayer } = transaction;
  if (instructions.length < MIN_INSTRUCTIONS || instructions.length > MAX_INSTRUCTIONS) {
    refuseTransaction(
      'INVALID_PAYMENT',
      `the transaction must have ${MIN_INSTRUCTIONS} to ${MAX_INSTRUCTIONS} instructions`,
    );
  }
  if (instructions.some(({ program, accounts }) => program === feePayer || accounts.includes(feePayer))) {
    refuseTransaction('INVALID_PAYMENT', 'the fee payer must not take part in any instruction');
  }
  const [limit, price, transfer, ...rest] = instructions;
  mustBeUnitLimit(limit);
  mustBeUnitPrice(price);
  for (const [index, instruction] of rest.entries()) mustBeHarmless(instruction, index, terms);
  return await readTransferChecked(transfer, transaction, terms);
}

function mustBeUnitLimit(given: Instruction | undefined): void {
  const data = budgetData(given, { kind: SET_UNIT_LIMIT, size: 5 });
  if (data === undefined) refuseTransaction('INVALID_PAYMENT', 'the first instruction must set the compute unit limit');
  if (data.readUInt32LE(1) > MAX_UNITS) {
    refuseTransaction('INVALID_PAYMENT', `the compute unit limit must be at most ${MAX_UNITS}`);
  }
}

function mustBeUnitPrice(given: Instruction | undefined): void {
  const data = budgetData(given, { kind: SET_UNIT_PRICE, size: 9 });
  if (data === undefined)
    refuseTransaction('INVALID_PAYMENT', 'the second instruction must set the compute unit price');
  if (data.readBigUInt64LE(1) > MAX_UNIT_PRICE) {
    refuseTransaction('INVALID_PAYMENT', `the compute unit price must be at most ${MAX_UNIT_PRICE} micro-lamports`);
  }
}

function budgetData(
  given: Instruction | undefined,
  { kind, size }: { kind: number; size: number },
): Buffer | undefined {
  if (given?.program !== COMPUTE_BUDGET_PROGRAM || given.accounts.length > 0) return undefined;
  return given.data.length === size && given.data[0] === kind ? Buffer.from(given.data) : undefined;
}

/** Reads the transfer only, for a payment that was accepted under earlier rules. Throws PaymentRefused. */
export async function transferIn(transaction: PaymentTransaction, terms: TransferTerms): Promise<Transfer> {
  return await readTransferChecked(transaction.instructions[MIN_INSTRUCTIONS - 1], transaction, terms);
}

const LAMPORTS_PER_SIGNATURE = 5_000n;
const SIGNATURES = 2n;
const MICRO = 1_000_000n;

/** Fee in lamports, charged also if the transaction fails. The transaction must keep the rules above. */
export function feeOf({ instructions: [limit, price] }: PaymentTransaction): bigint {
  const units = budgetData(limit, { kind: SET_UNIT_LIMIT, size: 5 })?.readUInt32LE(1) ?? 0;
  const microLamports = budgetData(price, { kind: SET_UNIT_PRICE, size: 9 })?.readBigUInt64LE(1) ?? 0n;
  return SIGNATURES * LAMPORTS_PER_SIGNATURE + (BigInt(units) * microLamports + MICRO - 1n) / MICRO;
}

/** Allows additions of wallets: checks for their owner, and a memo that makes each payment unique. */
function mustBeHarmless(
  { program, data }: Instruction,
  index: number,
  { isOwnFee }: Pick<PaymentTerms, 'isOwnFee'>,
): void {
  const place = MIN_INSTRUCTIONS + index + 1;
  const mayCheck = !isOwnFee && place !== MAX_INSTRUCTIONS;
  if (program !== MEMO_PROGRAM && !(mayCheck && program === LIGHTHOUSE_PROGRAM)) {
    refuseTransaction(
      'INVALID_PAYMENT',
      `instruction ${place} may only be a memo${mayCheck ? ' or a check by Lighthouse' : ''}`,
    );
  }
  if (program === MEMO_PROGRAM && data.length > MAX_MEMO_BYTES) {
    refuseTransaction('INVALID_PAYMENT', `a memo must be at most ${MAX_MEMO_BYTES} bytes`);
  }
}

async function readTransferChecked(
  given: Instruction | undefined,
  { payer }: PaymentTransaction,
  { mint, decimals, payTo }: TransferTerms,
): Promise<Transfer> {
  const program = given?.program ?? '';
  if (given === undefined || (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM)) {
    return refuseTransaction('INVALID_PAYMENT', 'the third instruction must be a TransferChecked of a token program');
  }
  const data = Buffer.from(given.data);
  const [source, named, destination, authority, ...others] = given.accounts;
  if (data.length !== 10 || data[0] !== TRANSFER_CHECKED || authority === undefined || others.length > 0) {
    return refuseTransaction(
      'INVALID_PAYMENT',
      'the third instruction must be a TransferChecked with its four accounts',
    );
  }
  if (named !== mint) refuseTransaction('UNSUPPORTED_TOKEN', `the token of this network is ${mint}`);
  if (data[9] !== decimals) refuseTransaction('UNSUPPORTED_TOKEN', `the token has ${decimals} decimals`);
  if (authority !== payer)
    refuseTransaction('INVALID_PAYMENT_PAYER', 'the transfer must be by the payer, who signs it');
  if (payer === payTo) refuseTransaction('INVALID_PAYMENT_PAYER', 'nobody can pay from the address that is paid');
  if (destination !== (await tokenAccountOf(payTo, mint, program))) {
    return refuseTransaction(
      'INVALID_PAYMENT_RECIPIENT',
      `the transfer must be to the associated token account of ${payTo}`,
    );
  }
  if (source !== (await tokenAccountOf(payer, mint, program))) {
    return refuseTransaction(
      'INVALID_PAYMENT_PAYER',
      'the transfer must be from the associated token account of the payer',
    );
  }
  return { program, payer, source, destination, amount: data.readBigUInt64LE(1) };
}

export function refuseTransaction(code: PaymentRefusalCode, message: string): never {
  throw new PaymentRefused(code, message, { field: 'payload.transaction' });
}

/** States of a top-up, their transitions, and the value of a payment. */
import type { Nano } from '../money.ts';
import type { SignedPayment } from './signedPayment.ts';

const TOP_UP_STATES = [
  /** Recorded; not submitted, or its transaction was dropped and it is submitted again. */
  'recorded',
  /** Being submitted, or was when its worker died: it may be on its way to the chain. */
  'settling',
  /** Submitted, or seen on the chain. */
  'sent',
  /** Perhaps submitted: the reply was lost. */
  'unknown',
  /** Certainly not submitted, and not on the chain: the payer may present it again while it is valid. */
  'refused',
  /** On the chain and credited. Final. */
  'credited',
  /** Not on the chain, and too late for it. Final, unless its payer presents it again and the chain has it. */
  'failed',
  /** The chain used it, but the promised transfer did not happen; needs an operator. Final. */
  'wrong',
] as const;
export type TopUpState = (typeof TOP_UP_STATES)[number];

export const FINAL_TOP_UP_STATES = ['credited', 'failed', 'wrong'] as const satisfies readonly TopUpState[];
export type FinalTopUpState = (typeof FINAL_TOP_UP_STATES)[number];

const NEXT: Record<TopUpState, readonly TopUpState[]> = {
  recorded: ['settling', 'sent', ...FINAL_TOP_UP_STATES],
  settling: ['sent', 'unknown', 'refused', ...FINAL_TOP_UP_STATES],
  sent: ['recorded', ...FINAL_TOP_UP_STATES],
  unknown: ['recorded', 'sent', ...FINAL_TOP_UP_STATES],
  // Only way back, when the payer presents it again: nothing is in transit.
  refused: ['settling', 'sent', ...FINAL_TOP_UP_STATES],
  credited: [],
  failed: [],
  wrong: [],
};

/** States from which a top-up may enter `to`; SQL that changes a row names exactly these. */
export function topUpPredecessors(to: TopUpState): TopUpState[] {
  return TOP_UP_STATES.filter((state) => NEXT[state].includes(to));
}

export function isFinalTopUp(state: TopUpState): state is FinalTopUpState {
  return NEXT[state].length === 0;
}

/** Most submissions of one payment: repeated only after a certain refusal, or when its transaction was dropped. */
export const MAX_SETTLEMENTS = 20;

/** Whether it may be submitted again because its transaction was dropped. */
export function canReopen({ state, settlements }: { state: TopUpState; settlements: number }): boolean {
  return settlements < MAX_SETTLEMENTS && NEXT[state].includes('recorded');
}

/** Open payments of one payer; further ones are refused. */
export const MAX_OPEN_TOP_UPS = 5;
/** Payments of one payer per day that cost a fee without a credit; further ones are refused. */
export const MAX_COSTLY_FAILURES = 3;

/** Latest end of a payment. Offers have 300 seconds. */
export const MAX_WINDOW_SECONDS = 3_600;
/** A blockhash of Solana lives for about 90 seconds. */
const BLOCKHASH_SECONDS = 180;

/** End of the payment's own window, in Unix ms. */
export function endOfWindowMs({ validBefore, readAt = '0' }: Pick<SignedPayment, 'validBefore' | 'readAt'>): number {
  return (validBefore === undefined ? Number(readAt) + BLOCKHASH_SECONDS : Number(validBefore)) * 1_000;
}

export const FIRST_REFUSED_PAUSE_MS = 2_000;
const MAX_REFUSED_PAUSE_MS = 3_600_000;
const PAUSE_AFTER_WINDOW_MS = 60_000;

/**
 * Pause of a refused payment before poll `look` (from 0) of the chain. Nothing is in transit unless the refusal was
 * wrong: the pauses double until the window ends, and then give the chain time to confirm that.
 */
export function pauseOfRefusedMs(look: number, leftMs: number): number {
  if (leftMs <= 0) return PAUSE_AFTER_WINDOW_MS;
  return Math.min(FIRST_REFUSED_PAUSE_MS * 2 ** look, MAX_REFUSED_PAUSE_MS, leftMs + 1_000);
}

/** Suggested amount for wallets. */
export const SUGGESTED_TOP_UP_USD = 10;

/** A token with more decimals than the ledger would not be credited exactly. */
const MAX_DECIMALS = 9;

/** Exact ledger amount of smallest units of a dollar token. Throws RangeError for more than nine decimals. */
export function nanoOfUnits(units: string, decimals: number): Nano {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > MAX_DECIMALS) {
    throw new RangeError(`a token of ${decimals} decimals cannot be credited exactly`);
  }
  return BigInt(units) * 10n ** BigInt(MAX_DECIMALS - decimals);
}

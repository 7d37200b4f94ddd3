/** The states of a top-up and the moves between them, and what a payment is worth. */
import type { Nano } from '../money.ts';
import type { SignedPayment } from './signedPayment.ts';

const TOP_UP_STATES = [
  /** Written down; nothing was handed in, or its transaction was dropped and it is handed in again. */
  'recorded',
  /** It is being handed in, or was when its worker died: from here on it may be on its way to the chain. */
  'settling',
  /** Handed in, or seen on the chain. */
  'sent',
  /** Perhaps handed in: the answer was lost. */
  'unknown',
  /** Certainly not handed in, and not on the chain: its payer may present it again while it is valid. */
  'refused',
  /** The chain has it and so have the books. Final. */
  'credited',
  /** Not on the chain, and too late to come there. Final, unless its payer presents it again and the chain has it after all. */
  'failed',
  /** The chain used it up, but what it promised did not happen: for the operator to look at. Final. */
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
  // The one way back, and only a payer who presents the payment again takes it: nothing is out there.
  refused: ['settling', 'sent', ...FINAL_TOP_UP_STATES],
  credited: [],
  failed: [],
  wrong: [],
};

/** The states from which a top-up may enter `to`; the SQL that moves a row names exactly these. */
export function topUpPredecessors(to: TopUpState): TopUpState[] {
  return TOP_UP_STATES.filter((state) => NEXT[state].includes(to));
}

export function isFinalTopUp(state: TopUpState): state is FinalTopUpState {
  return NEXT[state].length === 0;
}

/** How often one payment is handed in at most: again only after a certain refusal, or when its transaction was dropped. */
export const MAX_SETTLEMENTS = 20;

/** Whether it may be handed in again because its transaction was dropped. */
export function canReopen({ state, settlements }: { state: TopUpState; settlements: number }): boolean {
  return settlements < MAX_SETTLEMENTS && NEXT[state].includes('recorded');
}

/** Payments of one payer that may wait for their end at the same time; beyond it another one is refused. */
export const MAX_OPEN_TOP_UPS = 5;
/** Payments of one payer in a day that cost a fee and moved nothing; beyond it another one is refused. */
export const MAX_COSTLY_FAILURES = 3;

/** How far ahead a payment may end. Its offer says 300 seconds. */
export const MAX_WINDOW_SECONDS = 3_600;
/** A blockhash of Solana lives for about 90 seconds. */
const BLOCKHASH_SECONDS = 180;

/** When the payment's own window is over, in Unix ms. */
export function endOfWindowMs({ validBefore, readAt = '0' }: Pick<SignedPayment, 'validBefore' | 'readAt'>): number {
  return (validBefore === undefined ? Number(readAt) + BLOCKHASH_SECONDS : Number(validBefore)) * 1_000;
}

export const FIRST_REFUSED_PAUSE_MS = 2_000;
const MAX_REFUSED_PAUSE_MS = 3_600_000;
const PAUSE_AFTER_WINDOW_MS = 60_000;

/**
 * How long a refused payment waits for its payer before look `look` (from 0) at the chain. Nothing is on its way, unless
 * the refusal was a lie: the pauses double until the window ends, and then leave the chain time to confirm that it has.
 */
export function pauseOfRefusedMs(look: number, leftMs: number): number {
  if (leftMs <= 0) return PAUSE_AFTER_WINDOW_MS;
  return Math.min(FIRST_REFUSED_PAUSE_MS * 2 ** look, MAX_REFUSED_PAUSE_MS, leftMs + 1_000);
}

/** What a wallet is advised to pay. */
export const SUGGESTED_TOP_UP_USD = 10;

/** A token with more decimals than the ledger would not be credited exactly. */
const MAX_DECIMALS = 9;

/** What so many smallest units of a dollar token are in the ledger: exact. Throws RangeError for more than nine decimals. */
export function nanoOfUnits(units: string, decimals: number): Nano {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > MAX_DECIMALS) {
    throw new RangeError(`a token of ${decimals} decimals cannot be credited exactly`);
  }
  return BigInt(units) * 10n ** BigInt(MAX_DECIMALS - decimals);
}

/** Compares the top-ups of the ledger with the payments on the chains, in both directions. */
import type { TopUpState } from './topUp.ts';

export interface ChainPayment {
  paymentId: string;
  network: string;
  transaction: string;
  /** Smallest units. */
  amount: string;
}

export interface BookedPayment extends Omit<ChainPayment, 'transaction' | 'amount'> {
  state: TopUpState;
  transaction: string | undefined;
  /** Credited amount in smallest units; undefined: none. */
  creditedUnits: string | undefined;
}

type DifferenceKind =
  /** Paid on the chain, unknown here. */
  | 'not booked'
  /** Paid on the chain; ended here without a credit. */
  | 'not credited'
  /** Amount or transaction of the credit differs from the chain. */
  | 'credited otherwise'
  /** Credited, but not on the chain. */
  | 'not on the chain';

export interface Difference {
  kind: DifferenceKind;
  paymentId: string;
  network: string;
  transaction: string | undefined;
  paidUnits: string | undefined;
  creditedUnits: string | undefined;
}

/** `booked`: this payment in the ledger. Undefined: both agree, or it is about to be credited. */
export function compareWithBooks(paid: ChainPayment, booked: BookedPayment | undefined): Difference | undefined {
  const { paymentId, network, transaction, amount: paidUnits } = paid;
  const creditedUnits = booked?.creditedUnits;
  const difference = { paymentId, network, transaction, paidUnits, creditedUnits };
  switch (booked?.state) {
    case undefined:
      return { kind: 'not booked', ...difference };
    case 'credited': {
      const isSame = creditedUnits === paidUnits && booked.transaction === transaction;
      return isSame ? undefined : { kind: 'credited otherwise', ...difference };
    }
    case 'failed':
    case 'wrong':
      return { kind: 'not credited', ...difference };
    default:
      return undefined;
  }
}

/** `booked`: credited payments; `paidIds`: payments on the chains from that time and somewhat earlier. */
export function creditedWithoutPayment(booked: readonly BookedPayment[], paidIds: ReadonlySet<string>): Difference[] {
  return booked
    .filter(({ state, paymentId }) => state === 'credited' && !paidIds.has(paymentId))
    .map(({ paymentId, network, transaction, creditedUnits }) => ({
      ...{ kind: 'not on the chain' as const, paymentId, network, transaction, creditedUnits },
      paidUnits: undefined,
    }));
}

/** The books of top-ups held against what the chains say was paid, both ways. */
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
  /** What was credited, in smallest units; undefined: nothing was. */
  creditedUnits: string | undefined;
}

type DifferenceKind =
  /** Paid on the chain, and not on the books. */
  | 'not booked'
  /** Paid on the chain; on the books it ended without a credit. */
  | 'not credited'
  /** Credited by another amount, or for another transaction, than the chain has. */
  | 'credited otherwise'
  /** Credited, and not on the chain. */
  | 'not on the chain';

export interface Difference {
  kind: DifferenceKind;
  paymentId: string;
  network: string;
  transaction: string | undefined;
  paidUnits: string | undefined;
  creditedUnits: string | undefined;
}

/** `booked`: what the books say of this payment. Undefined: they agree, or it is on its way to its credit. */
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

/** `booked`: credited payments; `paidIds`: all that the chains have of that time, and of some time before. */
export function creditedWithoutPayment(booked: readonly BookedPayment[], paidIds: ReadonlySet<string>): Difference[] {
  return booked
    .filter(({ state, paymentId }) => state === 'credited' && !paidIds.has(paymentId))
    .map(({ paymentId, network, transaction, creditedUnits }) => ({
      ...{ kind: 'not on the chain' as const, paymentId, network, transaction, creditedUnits },
      paidUnits: undefined,
    }));
}

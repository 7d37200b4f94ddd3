/**
 * A payment network as top-ups use it: offer, read, verify, settle, find. Each family implements it (evm/, solana/). A
 * facilitator is never trusted: whatever it replies, only `find` says what happened.
 */
import type { PaymentEnvelope, PaymentRefusal, PaymentRefusalCode } from '../../domain/payments/envelope.ts';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import type { Wallet } from '../../domain/wallets.ts';

export type { SignedPayment } from '../../domain/payments/signedPayment.ts';
export type { PaymentEnvelope, PaymentRefusalCode };

/** Entry of `accepts` (WALLET-7). A type, not an interface, so that it is assignable to JSON. */
export type PaymentRequirement = {
  scheme: 'exact';
  /** CAIP-2. */
  network: string;
  /** Smallest units of the token, as a decimal string. */
  amount: string;
  asset: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: Record<string, string>;
};

export class PaymentRefused extends Error {
  readonly code: PaymentRefusalCode;
  readonly details: Readonly<Record<string, string>> | undefined;

  /** `message` is shown to the client. */
  constructor(code: PaymentRefusalCode, message: string, details?: Readonly<Record<string, string>>) {
    super(message);
    this.name = 'PaymentRefused';
    this.code = code;
    this.details = details;
  }
}

/** Throws the refusal, if there is one. */
export function throwRefusal(refusal: PaymentRefusal | undefined): void {
  if (refusal !== undefined) throw new PaymentRefused(refusal.code, refusal.message, refusal.details);
}

/** Too few nodes answer, or they disagree, so the result is unknown. */
export class ChainUnavailable extends Error {}

/** The payment was used before the searched part of the chain, so its transaction is unknown. */
export class UsedBefore extends ChainUnavailable {}

export type SettleOutcome =
  /** Submitted; only `find` says whether it succeeded. */
  | { outcome: 'sent'; transaction: string | undefined }
  /** Certainly not submitted, now or later: the same payment may be tried again. */
  | { outcome: 'refused'; reason: string }
  /** The reply was lost or is unreadable: the payment may have been submitted. */
  | { outcome: 'unknown'; reason: string; transaction?: string };

/** Further terms of a settlement. */
export interface SettleTerms {
  /**
   * Called before anything is sent at this service's expense: whether `fee` more may be spent, in the smallest units of
   * the network's coin. Absent: it may.
   */
  approveFee?(fee: bigint): Promise<boolean>;
  /** Transaction of an earlier settlement whose fee is too low. It is replaced, not repeated. */
  replaces?: string | undefined;
}

export type PaymentLookup =
  /**
   * Not on the chain. `gone`: it can never be (expired at a final block, or the nonce was cancelled). `dropped`: the
   * nodes no longer know this service's transaction, so it may be sent again. `stuck`: it is pending, but its fee is
   * too low for a block.
   */
  | { state: 'absent'; gone: boolean; dropped?: true; stuck?: true }
  /** On the chain, but without enough confirmations or agreement of the nodes. */
  | { state: 'pending'; transaction: string }
  /** The nonce was used without the promised transfer: nothing is credited. */
  | { state: 'wrong'; transaction: string; reason: string }
  /** Read from the receipt: this token, payer, recipient and amount, with enough confirmations. */
  | { state: 'final'; transaction: string; amount: string };

export interface PaymentNetwork {
  /** CAIP-2. */
  readonly network: string;
  /** Further names that clients send: "base", "solana". */
  readonly names: readonly string[];
  /** Decimals of the token, always 6. */
  readonly decimals: number;
  /** `amount`: smallest units. Throws ChainUnavailable if the facilitator does not name the fee payer. */
  offer(amount: string): Promise<PaymentRequirement>;
  /** Checks all that needs no node: shape, token, recipient, windows, signature. Throws PaymentRefused. */
  read(envelope: PaymentEnvelope, nowMs: number): Promise<SignedPayment>;
  /** Checks with the nodes: nonce unused, funds present, simulation passes. Throws PaymentRefused, ChainUnavailable. */
  verify(payment: SignedPayment, signal: AbortSignal): Promise<void>;
  /** Daily budget for fees of payments that end without a credit, in the smallest units of the network's coin. */
  readonly feeBudget: bigint;
  /** Submits the payment once. Throws only the reason of `signal`. */
  settle(payment: SignedPayment, signal: AbortSignal, terms?: SettleTerms): Promise<SettleOutcome>;
  /** `transaction`: unverified hint of where to look first. Throws ChainUnavailable. */
  find(payment: SignedPayment, signal: AbortSignal, transaction?: string): Promise<PaymentLookup>;
  close?(): Promise<void>;
}

/** Submits payments, with a key of this service or through a facilitator. */
export interface Settler {
  /** Throws only the reason of `signal`. */
  settle(payment: SignedPayment, signal: AbortSignal, terms?: SettleTerms): Promise<SettleOutcome>;
  close(): Promise<void>;
}

/** A payment to `payTo` on the chain with enough confirmations for a credit. Reconciled with the ledger. */
export interface IncomingTransfer {
  network: string;
  asset: string;
  transaction: string;
  /** Block time in Unix seconds. */
  atSeconds: number;
  /** Smallest units of the token. */
  amount: string;
  /** Undefined: sent without a payment that its payer signed for submission by another party. */
  payment?: { payer: Wallet; nonce: string };
}

export interface TransferReader {
  /** Yields the oldest first. Throws ChainUnavailable. */
  read(sinceSeconds: number, signal: AbortSignal): AsyncIterable<IncomingTransfer>;
  close(): Promise<void>;
}

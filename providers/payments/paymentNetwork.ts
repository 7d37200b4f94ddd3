/**
 * What a top-up needs of a network on which wallets pay, in our words: offer, read, check, settle, look for. Each family
 * has one (evm/, solana/). A facilitator is believed in nothing: whatever it answers, only `find` says what happened.
 */
import type { PaymentEnvelope, PaymentRefusal, PaymentRefusalCode } from '../../domain/payments/envelope.ts';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import type { Wallet } from '../../domain/wallets.ts';

export type { SignedPayment } from '../../domain/payments/signedPayment.ts';
export type { PaymentEnvelope, PaymentRefusalCode };

/** Entry of `accepts` (WALLET-7); a type, not an interface, so that it is JSON. */
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

  /** `message`: for the client. */
  constructor(code: PaymentRefusalCode, message: string, details?: Readonly<Record<string, string>>) {
    super(message);
    this.name = 'PaymentRefused';
    this.code = code;
    this.details = details;
  }
}

/** Throws what the rules found, if they found something. */
export function throwRefusal(refusal: PaymentRefusal | undefined): void {
  if (refusal !== undefined) throw new PaymentRefused(refusal.code, refusal.message, refusal.details);
}

/** The network's nodes do not answer, or not with one voice: nothing can be said, and nothing is. */
export class ChainUnavailable extends Error {}

/** The payment was used up at a time before the search of the chain begins: by whom and how cannot be told. */
export class UsedBefore extends ChainUnavailable {}

export type SettleOutcome =
  /** Handed in; whether it holds is for `find` to say. */
  | { outcome: 'sent'; transaction: string | undefined }
  /** Certainly nothing was handed in, and nothing will be: the same payment may be tried again. */
  | { outcome: 'refused'; reason: string }
  /** The answer was lost or cannot be understood: it may have been handed in. */
  | { outcome: 'unknown'; reason: string; transaction?: string };

/** What handing a payment in may do beside it. */
export interface SettleTerms {
  /**
   * Asked before anything is sent at this service's own expense: whether so much more, in the smallest units of the
   * network's coin, may be spent. Left out: it may.
   */
  approveFee?(fee: bigint): Promise<boolean>;
  /** The transaction of an earlier settlement that waits because its fee is too low: it is replaced, not added to. */
  replaces?: string | undefined;
}

export type PaymentLookup =
  /**
   * Not on the chain; `gone`: it can never come any more (its time is over at a final block, or the nonce was cancelled).
   * `dropped`: the transaction in which we handed it in is not even waiting at the nodes any more, and may be sent again.
   * `stuck`: it waits, and no block takes it at its fee.
   */
  | { state: 'absent'; gone: boolean; dropped?: true; stuck?: true }
  /** On the chain, but not deep enough yet, or the nodes do not agree yet. */
  | { state: 'pending'; transaction: string }
  /** The nonce was used, but what the payment promised did not happen: nothing is credited. */
  | { state: 'wrong'; transaction: string; reason: string }
  /** Our own reading of the receipt: this token, this payer, our recipient, this amount, deep enough. */
  | { state: 'final'; transaction: string; amount: string };

export interface PaymentNetwork {
  /** CAIP-2. */
  readonly network: string;
  /** Further spellings that clients send: "base", "solana". */
  readonly names: readonly string[];
  /** Decimals of the token: 6. */
  readonly decimals: number;
  /** `amount`: smallest units. Throws ChainUnavailable where the fee payer is the facilitator's and it does not say who. */
  offer(amount: string): Promise<PaymentRequirement>;
  /** Everything that needs no node: shape, token, recipient, windows, signature. Throws PaymentRefused. */
  read(envelope: PaymentEnvelope, nowMs: number): Promise<SignedPayment>;
  /** Asks the nodes: nonce unused, funds there, simulation passes. Throws PaymentRefused, ChainUnavailable. */
  verify(payment: SignedPayment, signal: AbortSignal): Promise<void>;
  /** In the smallest units of the network's coin: what may be spent in a day on payments that end without a credit. */
  readonly feeBudget: bigint;
  /** Hands it in once. Never throws but for `signal`. */
  settle(payment: SignedPayment, signal: AbortSignal, terms?: SettleTerms): Promise<SettleOutcome>;
  /** `transaction`: where to look first, if anybody named one; not believed. Throws ChainUnavailable. */
  find(payment: SignedPayment, signal: AbortSignal, transaction?: string): Promise<PaymentLookup>;
  /** Ends its connections. */
  close?(): Promise<void>;
}

/** Hands payments in: this service with a key of its own, or a facilitator. */
export interface Settler {
  /** Never throws but for `signal`. */
  settle(payment: SignedPayment, signal: AbortSignal, terms?: SettleTerms): Promise<SettleOutcome>;
  close(): Promise<void>;
}

/** A payment to `payTo` on the chain, as deep as a credit must be: the other side of the books. */
export interface IncomingTransfer {
  network: string;
  asset: string;
  transaction: string;
  /** Unix seconds of its block. */
  atSeconds: number;
  /** Smallest units of the token. */
  amount: string;
  /** Undefined: sent in another way than by a payment that its payer signed for somebody to hand in. */
  payment?: { payer: Wallet; nonce: string };
}

export interface TransferReader {
  /** Oldest first. Throws ChainUnavailable. */
  read(sinceSeconds: number, signal: AbortSignal): AsyncIterable<IncomingTransfer>;
  close(): Promise<void>;
}

/** Who hands a payment in: this service with a key of its own, or a facilitator. */
import type { SettleOutcome, SettleTerms, SignedPayment } from './paymentNetwork.ts';

export interface Settler {
  /** Never throws but for `signal`. */
  settle(payment: SignedPayment, signal: AbortSignal, terms?: SettleTerms): Promise<SettleOutcome>;
  close(): Promise<void>;
}

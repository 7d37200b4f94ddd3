/** Who hands a payment in: this service with a key of its own, or a facilitator. */
import type { SettleOutcome, SignedPayment } from './paymentNetwork.ts';

export interface Settler {
  /** Never throws but for `signal`. */
  settle(payment: SignedPayment, signal: AbortSignal): Promise<SettleOutcome>;
  close(): Promise<void>;
}

/** Payment in a header, before its network reads it, and its refusals. */

/** Decoded payment header: one shape for v2 and the flat legacy form. */
export interface PaymentEnvelope {
  x402Version: 1 | 2;
  scheme: string;
  /** As it was sent: "base", "eip155:8453" … */
  network: string;
  /** v2 only: the requirement that the client claims to have chosen. */
  accepted: Readonly<Record<string, unknown>> | undefined;
  /** v2 only, and optional there. */
  resourceUrl: string | undefined;
  payload: Readonly<Record<string, unknown>>;
}

/** Codes with which a payment is refused before anything moves; all are 400 (WALLET-11). */
export const PAYMENT_REFUSALS = [
  'INVALID_PAYMENT_FORMAT',
  'INVALID_PAYMENT',
  'UNSUPPORTED_NETWORK',
  'INVALID_PAYMENT_RECIPIENT',
  'UNSUPPORTED_TOKEN',
  'UNSUPPORTED_SCHEME',
  'INVALID_AMOUNT',
  'INVALID_PAYMENT_PAYER',
  'AMOUNT_TOO_LOW',
  'AMOUNT_TOO_HIGH',
  'PAYMENT_VERIFICATION_FAILED',
] as const;
export type PaymentRefusalCode = (typeof PAYMENT_REFUSALS)[number];

/** Reason of a refusal; `message` is for the client. */
export interface PaymentRefusal {
  code: PaymentRefusalCode;
  message: string;
  details?: Readonly<Record<string, string>>;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

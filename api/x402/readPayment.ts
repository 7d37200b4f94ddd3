/** Reads the payment of a request: one header with three possible names, decoded by its network. */
import type { IncomingHttpHeaders } from 'node:http';
import type { PaymentEnvelope } from '../../domain/payments/envelope.ts';
import { isObject } from '../../domain/payments/envelope.ts';
import { readEnvelope } from '../../domain/payments/readEnvelope.ts';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import { paymentNetworkNamed } from '../../providers/payments/createPaymentNetworks.ts';
import { type PaymentNetwork, PaymentRefused, throwRefusal } from '../../providers/payments/paymentNetwork.ts';
import { topUpUrls } from '../auth/topUpUrl.ts';
import type { Dependencies } from '../dependencies.ts';

const NAMES = ['payment-signature', 'x-402-payment', 'x-payment'] as const;

/** Undefined: no payment. Throws PaymentRefused for more than one. */
export function paymentHeader(headers: IncomingHttpHeaders): string | undefined {
  const sent = NAMES.flatMap((name) => headers[name] ?? []);
  // Node joins duplicate headers by a comma, which base64 does not have.
  if (sent.length > 1 || sent[0]?.includes(',')) {
    throw new PaymentRefused('INVALID_PAYMENT_FORMAT', 'Send exactly one payment header, once.');
  }
  return sent[0];
}

export interface EnvelopeOnNetwork {
  envelope: PaymentEnvelope;
  network: PaymentNetwork;
}

/** Throws PaymentRefused. */
export function networkOfPayment(
  { core: { config }, accounts: { payments } }: Dependencies,
  header: string,
): EnvelopeOnNetwork {
  const reading = readEnvelope(header, topUpUrls(config.publicUrl));
  if (!reading.ok) {
    throwRefusal(reading.refusal);
    throw new Error('a refusal was not thrown');
  }
  const { envelope } = reading;
  const network = paymentNetworkNamed(payments, envelope.network);
  if (!network) {
    const message = `Payments are taken on ${[...payments.keys()].join(', ')}.`;
    throw new PaymentRefused('UNSUPPORTED_NETWORK', message);
  }
  return { envelope, network };
}

/** A time well within the window of the payment. */
const BEFORE_END_S = 60;

/**
 * Checks the payment as of a time within its window. A status request may come after that window, when it is too late
 * to present the payment. Undefined: it was not refused for its time.
 */
export async function readExpiredPayment(
  { envelope, network }: EnvelopeOnNetwork,
  nowMs: number,
): Promise<SignedPayment | undefined> {
  const { authorization } = envelope.payload;
  const end = isObject(authorization) ? authorization.validBefore : undefined;
  if (typeof end !== 'string' || !/^[1-9]\d{8,10}$/.test(end)) return undefined;
  const thenMs = (Number(end) - BEFORE_END_S) * 1_000;
  if (thenMs > nowMs) return undefined;
  return await network.read(envelope, thenMs).catch(() => undefined);
}

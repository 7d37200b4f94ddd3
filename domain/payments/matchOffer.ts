/** Compares the requirement that a client claims to have accepted with our offers (WALLET-10). */
import { isObject, type PaymentRefusal } from './envelope.ts';

export interface OfferTerms {
  scheme: string;
  /** All spellings of the network that clients send. */
  networks: readonly string[];
  asset: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: Readonly<Record<string, string>>;
  /** Optional members of `extra` with their values. */
  extraToo: Readonly<Record<string, string>>;
  /** Amount that the payer signed, which the client chooses. */
  amount: string;
  isSameAddress(one: string, other: string): boolean;
}

/** Undefined: the requirement matches our offer and the signed payment. */
export function refuseAccepted(
  accepted: Readonly<Record<string, unknown>>,
  terms: OfferTerms,
): PaymentRefusal | undefined {
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra, amount } = accepted;
  const is = (value: unknown, ours: string) => typeof value === 'string' && terms.isSameAddress(value, ours);
  if (scheme !== terms.scheme) return { code: 'UNSUPPORTED_SCHEME', message: `the scheme is "${terms.scheme}"` };
  if (typeof network !== 'string' || !terms.networks.includes(network)) {
    return { code: 'UNSUPPORTED_NETWORK', message: 'the accepted network is another one' };
  }
  if (!is(asset, terms.asset)) {
    return { code: 'UNSUPPORTED_TOKEN', message: `the token of this network is ${terms.asset}` };
  }
  if (!is(payTo, terms.payTo)) {
    return { code: 'INVALID_PAYMENT_RECIPIENT', message: `the recipient on this network is ${terms.payTo}` };
  }
  if (amount !== terms.amount) {
    return { code: 'INVALID_AMOUNT', message: 'accepted.amount is not what the payment is about' };
  }
  if (maxTimeoutSeconds !== terms.maxTimeoutSeconds || !isExtra(extra, terms)) {
    return { code: 'INVALID_PAYMENT', message: 'what was accepted is no offer of this service' };
  }
  return undefined;
}

/** Optional, but a present value must be ours. */
function isExtra(extra: unknown, { extra: ours, extraToo }: OfferTerms): boolean {
  if (extra === undefined) return true;
  if (!isObject(extra) || Object.keys(ours).some((key) => extra[key] !== ours[key])) return false;
  const known: Readonly<Record<string, string>> = { ...extraToo, ...ours };
  return Object.keys(extra).every((key) => Object.hasOwn(known, key) && extra[key] === known[key]);
}

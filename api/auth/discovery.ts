/** Answer to a request without a credential: payment offers and the sign-in challenge (WALLET-5). */
import type { Config } from '../../infra/config/config.ts';
import type { PaymentRequirement } from '../../providers/payments/paymentNetwork.ts';
import { type Answer, json } from '../http/answer.ts';
import type { PaymentOffers } from '../wallets/paymentOffers.ts';
import { type SignInOfferConfig, signInOffer } from './signInOffer.ts';
import { topUpUrl } from './topUpUrl.ts';

/** Ten dollars, proposed to clients that name no amount. */
export const SUGGESTED_AMOUNT = '10000000';

type DiscoveryConfig = SignInOfferConfig & Pick<Config, 'catalogue'>;

export interface Discovery {
  config: DiscoveryConfig;
  offers: PaymentOffers;
}

/** `path`: of the request, without its query. `signInOnly`: the route sells nothing. */
export async function discoveryAnswer(
  { config, offers }: Discovery,
  { path, signInOnly }: { path: string; signInOnly: boolean },
): Promise<Answer> {
  const accepts = signInOnly ? [] : await offers.of(SUGGESTED_AMOUNT);
  const offer = x402Offer(config, { path, accepts, error: 'Authentication required' });
  const authOptions = {
    apiKey: {
      header: 'Authorization: Bearer <API_KEY>',
      getKey: `${config.publicUrl}/docs`,
      docs: `${config.publicUrl}/docs`,
    },
    x402Wallet: {
      header: 'SIGN-IN-WITH-X',
      legacyHeader: 'X-Sign-In-With-X',
      topUp: topUpUrl(config.publicUrl),
      docs: `${config.publicUrl}/docs`,
    },
  };
  return json({ ...offer, authOptions }, { status: 402, headers: paymentRequired(offer) });
}

interface OfferTerms {
  /** Path of what the offer is for. */
  path: string;
  accepts: readonly PaymentRequirement[];
  error: string;
}

/** Offer of a payment or a sign-in, which x402 clients read from the header. */
export function x402Offer(config: SignInOfferConfig, terms: OfferTerms) {
  return { ...paymentOffer(config, terms), extensions: { 'sign-in-with-x': signInOffer(config) } };
}

/** Offer of a payment alone. The origin is the configured one, whatever `Host` says. */
export function paymentOffer(
  { publicUrl, brand }: Pick<Config, 'publicUrl' | 'brand'>,
  { path, accepts, error }: OfferTerms,
) {
  const resource = { url: `${publicUrl}${path}`, description: `${brand.name} API`, mimeType: 'application/json' };
  return { x402Version: 2, error, resource, accepts };
}

/** Header of the offer (x402 version 2). */
export function paymentRequired(offer: object): Record<string, string> {
  return { 'PAYMENT-REQUIRED': Buffer.from(JSON.stringify(offer)).toString('base64') };
}

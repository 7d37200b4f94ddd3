/** Answer to a wallet that has too little credit for its request (WALLET-8). */
import { nanoToNumberDown } from '../../domain/money.ts';
import type { Config } from '../../infra/config/config.ts';
import type { Funds } from '../../infra/postgres/funds.ts';
import type { PaymentRequirement } from '../../providers/payments/paymentNetwork.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json } from '../http/answer.ts';
import { paymentRequired, SUGGESTED_AMOUNT, x402Offer } from './discovery.ts';
import { signInChallenge } from './signInOffer.ts';
import { topUpUrl } from './topUpUrl.ts';

/** In USD, as the API writes amounts. */
const TOP_UP = { minimumUsd: 5, suggestedUsd: 10, leastToConsumeUsd: 0.1 } as const;

type TopUpOfferDependencies = Pick<Dependencies, 'core' | 'accounts'>;

/** Undefined: no top-up is possible at the moment. `path`: of the request. */
export async function topUpNeeded(
  { core: { config }, accounts: { payments, offers } }: TopUpOfferDependencies,
  { path, funds }: { path: string; funds: Funds },
): Promise<Answer | undefined> {
  const accepts = await offers.of(SUGGESTED_AMOUNT);
  const [first] = accepts;
  if (!first) return undefined;
  const balance = nanoToNumberDown(funds.usd + funds.bundled);
  const chainNames = accepts.map(({ network }) => payments.get(network)?.names[0] ?? network);
  const body = {
    error: 'Payment required',
    code: 'PAYMENT_REQUIRED',
    reason: 'insufficient_balance',
    message: `This wallet has ${balance} USD here; ${needed(balance)}.`,
    currentBalanceUsd: balance,
    minimumBalanceUsd: TOP_UP.leastToConsumeUsd,
    description: `${config.brand.name} API`,
    suggestedTopUpUsd: TOP_UP.suggestedUsd,
    minimumTopUpUsd: TOP_UP.minimumUsd,
    supportedTokens: ['USDC'],
    supportedChains: chainNames,
    topUpInstructions: instructions(config, first, payments.get(first.network)?.decimals ?? 6),
    siwxChallenge: signInChallenge(config),
  };
  const offer = x402Offer(config, { path, accepts, error: 'Payment required' });
  return json(body, { status: 402, headers: paymentRequired(offer) });
}

function needed(balance: number): string {
  const { leastToConsumeUsd: least } = TOP_UP;
  return balance < least ? `at least ${least} USD is needed` : 'the request may cost more than that';
}

function instructions(
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { payTo, asset, network }: PaymentRequirement,
  tokenDecimals: number,
) {
  const route = topUpUrl(publicUrl);
  return {
    step1: `POST ${route} without a payment header: the answer lists what can be paid with, and to whom.`,
    step2: `Sign a payment of at least ${TOP_UP.minimumUsd} USDC for one entry of that list (x402, scheme "exact").`,
    step3: `POST ${route} with the signed payment in the header PAYMENT-SIGNATURE, then send this request again.`,
    receiverWallet: payTo,
    tokenAddress: asset,
    tokenDecimals,
    network,
    minimumAmountUsd: TOP_UP.minimumUsd,
  };
}

/**
 * POST /x402/top-up (WALLET-12). Without a payment it answers with offers. With one it credits the payer, whoever
 * presents it, and reports the result to everyone who presents it again.
 */
import { FareboxError } from '../../domain/errors.ts';
import type { SignedPayment } from '../../domain/payments/signedPayment.ts';
import { MIN_TOP_UP_USD } from '../../domain/payments/topUpAmount.ts';
import { SignInRefused } from '../../domain/signIn/refused.ts';
import { isSameWallet } from '../../domain/wallets.ts';
import { unavailable } from '../../infra/postgres/failures.ts';
import { ownerOf } from '../../infra/postgres/walletAccounts.ts';
import { PaymentRefused } from '../../providers/payments/paymentNetwork.ts';
import { TOP_UP_PATH } from '../auth/topUpUrl.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json } from '../http/answer.ts';
import { limitAddress } from '../http/limitRoute.ts';
import { defineRoute, type RouteRequest } from '../http/route.ts';
import type { PresentedTopUp } from '../wallets/topUpService.ts';
import { X402_DESCRIPTIONS } from './openapi.ts';
import { type EnvelopeOnNetwork, networkOfPayment, paymentHeader, readExpiredPayment } from './readPayment.ts';
import { NOT_CONFIGURED, offerAnswer, refusedAnswer, topUpStateAnswer } from './topUpAnswers.ts';

/** Includes the query of the chain, the start and the wait for the credit. */
const DEADLINE_MS = 45_000;

type TopUpRequest = Pick<
  RouteRequest<undefined, undefined, 'open'>,
  'headers' | 'address' | 'requestId' | 'stopping' | 'waitFor'
>;

export const topUpRoute = defineRoute({
  method: 'POST',
  path: TOP_UP_PATH,
  access: 'open',
  deadlineMs: DEADLINE_MS,
  describes: X402_DESCRIPTIONS.topUp,
  closed: notConfiguredAnswer,
  async handler(dependencies, request) {
    const perMinute = dependencies.core.config.limits.perAddressPerMinute;
    await limitAddress(dependencies.limits.calls, request.address, { path: TOP_UP_PATH, perMinute });
    try {
      return await topUp(dependencies, request);
    } catch (error) {
      if (error instanceof PaymentRefused) return refusedAnswer(error);
      if (error instanceof SignInRefused) {
        return json({ error: error.message, code: error.code }, { status: 401 });
      }
      throw error;
    }
  },
});

export function notConfiguredAnswer({ accounts: { payments } }: Dependencies): Answer | undefined {
  return payments.size === 0 ? json(NOT_CONFIGURED, { status: 503 }) : undefined;
}

async function topUp(dependencies: Dependencies, request: TopUpRequest): Promise<Answer> {
  const header = paymentHeader(request.headers);
  if (header === undefined) return await offer(dependencies, request);
  const named = networkOfPayment(dependencies, header);
  const { seen, isPayer } = await request.waitFor(take(dependencies, request, named));
  return await topUpStateAnswer(dependencies.core.sql, seen, isPayer);
}

/** Every token is worth one dollar and has six decimals. */
const MIN_UNITS = String(MIN_TOP_UP_USD * 1_000_000);

async function offer(
  { core: { config }, accounts: { offers } }: Dependencies,
  { waitFor }: TopUpRequest,
): Promise<Answer> {
  const accepts = await waitFor(offers.of(MIN_UNITS));
  if (accepts.length === 0) throw unavailable('no payment network has an offer at the moment');
  return offerAnswer(config, accepts);
}

interface AcceptedTopUp {
  seen: PresentedTopUp;
  /** The payer signed in with it. */
  isPayer: boolean;
}

async function take(
  dependencies: Dependencies,
  request: TopUpRequest,
  named: EnvelopeOnNetwork,
): Promise<AcceptedTopUp> {
  const { topUps } = dependencies.accounts;
  const { requestId, stopping } = request;
  const nowMs = Date.now();
  let payment: SignedPayment;
  try {
    payment = await withOwner(dependencies, await named.network.read(named.envelope, nowMs));
  } catch (refusal) {
    const then = await readExpiredPayment(named, nowMs);
    if (!then) throw refusal;
    const late = await withOwner(dependencies, then);
    const isPayer = await isOwn(dependencies, request, late);
    const seen = await topUps.find({ network: named.network, payment: late, requestId, stopping });
    if (!seen) throw refusal;
    return { seen, isPayer };
  }
  const isPayer = await isOwn(dependencies, request, payment);
  const presentation = { network: named.network, payment, requestId, stopping };
  return { seen: await topUps.present(presentation), isPayer };
}

async function withOwner({ core: { sql } }: Dependencies, payment: SignedPayment): Promise<SignedPayment> {
  return { ...payment, payer: await ownerOf(sql, payment.payer) };
}

/**
 * A wallet that signs in with a payment must be its payer, who gets the credit in any case. A sign-in is a credential,
 * and no second one may accompany it; a key alone does not matter here. False: no sign-in.
 */
async function isOwn(
  { accounts: { signIn } }: Dependencies,
  { headers, address }: TopUpRequest,
  { payer }: SignedPayment,
): Promise<boolean> {
  const sent = [headers['sign-in-with-x'], headers['x-sign-in-with-x']].flatMap((value) => value ?? []);
  const [header] = sent;
  if (header === undefined) return false;
  if (sent.length > 1 || header.includes(',') || headers.authorization !== undefined) {
    throw new FareboxError({
      code: 'credential_ambiguous',
      message: 'Send at most one credential with a payment: one wallet sign-in header, and no API key beside it.',
    });
  }
  if (!signIn) throw unavailable('no wallet can sign in');
  const wallet = await signIn.verify(header, address);
  if (isSameWallet(wallet, payer)) return true;
  const message = 'The payment is of another wallet than the one that signed in.';
  throw new PaymentRefused('INVALID_PAYMENT_PAYER', message);
}

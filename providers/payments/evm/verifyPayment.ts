/** Checks with the nodes whether a payment can be settled now: nonce unused, funds present, transfer passes. */
import { type Hex, toHex } from 'viem';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import type { ChainNode } from '../nodes/chainNode.ts';
import { PaymentRefused, type SignedPayment } from '../paymentNetwork.ts';
import { CallReverted, type Chain } from './chain.ts';
import { pricedNow, readFees } from './fees.ts';
import { isByPayersKey } from './readPayment.ts';
import { balanceOf, isAuthorizationUsed, type SignedAuthorization, transferCall } from './token.ts';

/** USDC needs about 90,000; a contract wallet that checks its signature may need a few times as much. */
export const MAX_TRANSFER_GAS = 600_000n;

type EvmPaymentVerdict = 'good' | 'used' | 'poor' | 'reverted';

const WORDS: Record<Exclude<EvmPaymentVerdict, 'good'>, string> = {
  used: 'the authorization was used or cancelled before; if that was a moment ago, present it again in a minute',
  poor: 'the payer has less than this of the token',
  reverted: 'the token refuses the authorization: its signature is not the payer\u2019s, or it is not valid now',
};

export function signedOf(payment: SignedPayment): SignedAuthorization {
  return payment.payload as unknown as SignedAuthorization;
}

export interface EvmVerifier {
  chain: Chain;
  settings: PaymentNetworkSettings;
  /** Account that submits the payment; undefined: a facilitator does, whose address is unknown. */
  feePayer: Hex | undefined;
}

/** Throws PaymentRefused, ChainUnavailable. `details.reason` is the verdict. */
export async function verifyPayment(
  { chain, settings, feePayer }: EvmVerifier,
  payment: SignedPayment,
  signal: AbortSignal,
): Promise<void> {
  const signed = signedOf(payment);
  const data = transferCall(signed, !(await isByPayersKey(signed, settings)));
  const token = settings.asset as Hex;
  const verdict = await chain.agreed((node) => examine(node, { token, signed, data, feePayer }), signal);
  if (verdict === 'good') return;
  throw new PaymentRefused('PAYMENT_VERIFICATION_FAILED', WORDS[verdict], { reason: verdict });
}

interface AuthorizationTransfer {
  token: Hex;
  signed: SignedAuthorization;
  data: Hex;
  feePayer: Hex | undefined;
}

async function examine(
  node: ChainNode,
  { token, signed, data, feePayer }: AuthorizationTransfer,
): Promise<EvmPaymentVerdict> {
  const { from, value, nonce } = signed.authorization;
  const [used, balance, passes] = await Promise.all([
    isAuthorizationUsed(node, token, { block: 'latest', from, nonce }),
    balanceOf(node, token, from),
    passesNow(node, { to: token, data, feePayer }),
  ]);
  if (used) return 'used';
  if (balance < BigInt(value)) return 'poor';
  return passes ? 'good' : 'reverted';
}

/** Simulates with the final sender and gas price, which a contract payer can see. */
async function passesNow(
  node: ChainNode,
  { to, data, feePayer }: { to: Hex; data: Hex; feePayer: Hex | undefined },
): Promise<boolean> {
  const sender = feePayer === undefined ? {} : { from: feePayer, ...pricedNow(await readFees(node)) };
  try {
    await node.call('eth_call', [{ to, data, gas: toHex(MAX_TRANSFER_GAS), ...sender }, 'latest']);
    return true;
  } catch (error) {
    if (error instanceof CallReverted) return false;
    throw error;
  }
}

/** Checks a Solana payment without a node: shape, instruction list, token, recipient, amount, signature. */
import type { PaymentEnvelope } from '../../../domain/payments/envelope.ts';
import { refuseAccepted } from '../../../domain/payments/matchOffer.ts';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { refuseAmount } from '../../../domain/payments/topUpAmount.ts';
import { type PaymentRequirement, type SignedPayment, throwRefusal } from '../paymentNetwork.ts';
import { addressBytes, decodeTransaction, type PaymentTransaction, toWire } from './decodeTransaction.ts';
import { readTransfer, refuseTransaction } from './exactTransfer.ts';
import { isSignedBy } from './feeKey.ts';
import type { FeePayers } from './feePayers.ts';

export interface SolanaPaymentReader {
  settings: PaymentNetworkSettings;
  names: readonly string[];
  decimals: number;
  feePayers: FeePayers;
  /** Whether this service pays the fees, not a facilitator. */
  isOwnFee: boolean;
  /** `feePayer` is placed in `extra`. */
  offer(amount: string, feePayer: string): PaymentRequirement;
}

const UNSIGNED = new Uint8Array(64);

/** Throws PaymentRefused, and ChainUnavailable until the facilitator has named its fee payers. */
export async function readPayment(
  { settings, names, decimals, feePayers, isOwnFee, offer }: SolanaPaymentReader,
  envelope: PaymentEnvelope,
  nowMs: number,
): Promise<SignedPayment> {
  const { network, asset: mint, payTo } = settings;
  const networks = [network, ...names];
  if (envelope.scheme !== 'exact') refuseTransaction('UNSUPPORTED_SCHEME', 'the scheme is "exact"');
  if (!networks.includes(envelope.network)) refuseTransaction('UNSUPPORTED_NETWORK', `this is ${network}`);
  const transaction = decodeTransaction(envelope.payload.transaction);
  if (!(await feePayers.has(transaction.feePayer))) {
    refuseTransaction('INVALID_PAYMENT', 'the fee payer must be the one that extra.feePayer of the offer names');
  }
  const transfer = await readTransfer(transaction, { mint, decimals, payTo, isOwnFee });
  const amount = transfer.amount.toString();
  if (envelope.accepted !== undefined) {
    const terms = {
      ...offer(amount, transaction.feePayer),
      networks,
      extraToo: {},
      isSameAddress: Object.is,
    };
    throwRefusal(refuseAccepted(envelope.accepted, terms));
  }
  throwRefusal(refuseAmount(amount, decimals));
  mustBeSigned(transaction);
  return {
    ...{ network, asset: mint, payTo, amount },
    payer: { family: 'solana', address: transfer.payer },
    nonce: transaction.digest,
    validAfter: '0',
    readAt: String(Math.floor(nowMs / 1_000)),
    payload: { transaction: Buffer.from(toWire(transaction, UNSIGNED)).toString('base64') },
  };
}

function mustBeSigned({ payer, payerSignature, messageBytes }: PaymentTransaction): void {
  if (payerSignature.every((byte) => byte === 0)) {
    refuseTransaction('PAYMENT_VERIFICATION_FAILED', 'the payer has not signed the transaction');
  }
  if (!isSignedBy(addressBytes(payer), messageBytes, payerSignature)) {
    refuseTransaction('PAYMENT_VERIFICATION_FAILED', 'the signature is not the payer\u2019s');
  }
}

export function transactionOf({ payload }: SignedPayment): PaymentTransaction {
  return decodeTransaction(payload.transaction);
}

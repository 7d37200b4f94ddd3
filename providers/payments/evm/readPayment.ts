/** Checks an EIP-3009 payment without a node: shape, token, recipient, amount, window, signature. */
import { type Hex, hexToBigInt, recoverTypedDataAddress, slice } from 'viem';
import { isObject, type PaymentEnvelope } from '../../../domain/payments/envelope.ts';
import { refuseAccepted } from '../../../domain/payments/matchOffer.ts';
import type { PaymentNetworkSettings } from '../../../domain/payments/networkSettings.ts';
import { MAX_WINDOW_SECONDS } from '../../../domain/payments/topUp.ts';
import { readUnits, refuseAmount } from '../../../domain/payments/topUpAmount.ts';
import {
  type PaymentRefusalCode,
  PaymentRefused,
  type PaymentRequirement,
  type SignedPayment,
  throwRefusal,
} from '../paymentNetwork.ts';
import { chainIdOf } from './chain.ts';
import { type Authorization, type SignedAuthorization, TRANSFER_TYPES } from './token.ts';

export interface EvmPaymentReader {
  settings: PaymentNetworkSettings;
  names: readonly string[];
  decimals: number;
  offer(amount: string): PaymentRequirement;
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const NONCE = /^0x[0-9a-fA-F]{64}$/;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const SIGNATURE_BYTES = 65;
/** Contract signatures may be longer, but must fit into a transaction. */
const MAX_SIGNATURE_BYTES = 2_048;
/** Ending of signatures for wallets not deployed yet (EIP-6492). */
const UNDEPLOYED = /(6492){16}$/;
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Time needed for the settlement. */
const MIN_SECONDS_LEFT = 30n;

/** Throws PaymentRefused. Only `verify` checks a contract's signature, by calling the contract. */
export async function readPayment(
  { settings, names, decimals, offer }: EvmPaymentReader,
  envelope: PaymentEnvelope,
  nowMs: number,
): Promise<SignedPayment> {
  if (envelope.scheme !== 'exact') no('UNSUPPORTED_SCHEME', 'the scheme is "exact"');
  if (![settings.network, ...names].includes(envelope.network)) {
    no('UNSUPPORTED_NETWORK', `this is ${settings.network}`);
  }
  const { authorization, signature } = readShape(envelope.payload);
  const amount = authorization.value;
  if (envelope.accepted !== undefined) {
    const { scheme, asset, payTo, maxTimeoutSeconds, extra } = offer(amount);
    const networks = [settings.network, ...names];
    const extraToo = { assetTransferMethod: 'eip3009' };
    const isSameAddress = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();
    const terms = {
      scheme,
      asset,
      payTo,
      maxTimeoutSeconds,
      extra,
      networks,
      extraToo,
      isSameAddress,
      amount,
    };
    throwRefusal(refuseAccepted(envelope.accepted, terms));
  }
  throwRefusal(refuseAmount(amount, decimals));
  mustPayUs(authorization, settings);
  const nowS = BigInt(Math.floor(nowMs / 1000));
  mustBeNow(authorization, nowS);
  const isByKey = await mustNotBeForged({ authorization, signature }, settings);
  return {
    network: settings.network,
    asset: settings.asset,
    payer: { family: 'evm', address: authorization.from, ...(!isByKey && { chain: settings.network }) },
    payTo: settings.payTo,
    amount,
    nonce: authorization.nonce,
    validAfter: authorization.validAfter,
    validBefore: authorization.validBefore,
    readAt: String(nowS),
    payload: { signature, authorization: { ...authorization } },
  };
}

/** Accepts addresses in any letter case: the bytes are signed, not the checksum. */
function readShape(payload: Readonly<Record<string, unknown>>): SignedAuthorization {
  const { authorization, signature } = payload;
  if (!isObject(authorization)) return no('INVALID_PAYMENT', 'payload.authorization must be an object');
  const { from, to, value, nonce } = authorization;
  if (!isHex(from, ADDRESS)) return no('INVALID_PAYMENT_PAYER', 'authorization.from must be an address');
  if (!isHex(to, ADDRESS)) return no('INVALID_PAYMENT_RECIPIENT', 'authorization.to must be an address');
  if (!isHex(nonce, NONCE)) return no('INVALID_PAYMENT', 'authorization.nonce must be 0x and 64 hex digits');
  if (readUnits(value) === undefined) {
    return no('INVALID_AMOUNT', 'authorization.value must be a decimal string of whole smallest units');
  }
  if (!isSignature(signature)) return no('INVALID_PAYMENT', 'payload.signature must be 0x and hex digits');
  const time = (name: 'validAfter' | 'validBefore') => {
    const seconds = readUnits(authorization[name]);
    return seconds ?? no('INVALID_PAYMENT', `authorization.${name} must be Unix seconds as a decimal string`);
  };
  return {
    authorization: {
      from: lowerCase(from),
      to: lowerCase(to),
      value: String(value),
      validAfter: String(time('validAfter')),
      validBefore: String(time('validBefore')),
      nonce: lowerCase(nonce),
    },
    signature: lowerCase(signature),
  };
}

function isHex(value: unknown, shape: RegExp): value is Hex {
  return typeof value === 'string' && shape.test(value);
}

function isSignature(value: unknown): value is Hex {
  return isHex(value, /^0x([0-9a-fA-F]{2})+$/) && value.length <= 2 + 2 * MAX_SIGNATURE_BYTES;
}

function lowerCase(hex: Hex): Hex {
  return `0x${hex.slice(2).toLowerCase()}`;
}

function mustPayUs({ from, to }: Authorization, { asset, payTo }: PaymentNetworkSettings): void {
  if (to !== payTo) no('INVALID_PAYMENT_RECIPIENT', `the recipient on this network is ${payTo}`);
  if (from === payTo || from === asset || from === ZERO_ADDRESS) {
    no('INVALID_PAYMENT_PAYER', 'nobody can pay from this address');
  }
}

function mustBeNow({ validAfter, validBefore }: Authorization, nowS: bigint): void {
  if (BigInt(validAfter) > nowS) {
    no('PAYMENT_VERIFICATION_FAILED', 'the authorization is not valid yet', 'valid_after');
  }
  const endS = BigInt(validBefore);
  if (endS < nowS + MIN_SECONDS_LEFT) {
    const message = `the authorization ends in less than ${MIN_SECONDS_LEFT} seconds, or has ended`;
    no('PAYMENT_VERIFICATION_FAILED', message, 'valid_before');
  }
  if (endS > nowS + BigInt(MAX_WINDOW_SECONDS)) {
    const message = `the authorization ends more than ${MAX_WINDOW_SECONDS} seconds from now: validBefore is in Unix seconds`;
    no('PAYMENT_VERIFICATION_FAILED', message, 'valid_before');
  }
}

/** Returns whether the payer's own key signed it; otherwise the payer must be a contract. */
async function mustNotBeForged(signed: SignedAuthorization, settings: PaymentNetworkSettings): Promise<boolean> {
  const { signature } = signed;
  if (UNDEPLOYED.test(signature)) {
    no('INVALID_PAYMENT_PAYER', 'a wallet contract must be deployed before it pays', 'signature');
  }
  if (!(await isByPayersKey(signed, settings))) return false;
  if (isCanonical(signature)) return true;
  return no('PAYMENT_VERIFICATION_FAILED', 'the signature is not in its canonical form', 'signature');
}

function isCanonical(signature: Hex): boolean {
  const v = signature.slice(-2);
  return (v === '1b' || v === '1c') && hexToBigInt(slice(signature, 32, 64)) <= HALF_ORDER;
}

/** Whether the payer's own key made the signature. Otherwise the payer must be a contract that accepts it. */
export async function isByPayersKey(
  { authorization, signature }: SignedAuthorization,
  settings: PaymentNetworkSettings,
): Promise<boolean> {
  if (signature.length !== 2 + 2 * SIGNATURE_BYTES) return false;
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const signer = await recoverTypedDataAddress({
    domain: {
      name: settings.assetName,
      version: settings.assetVersion,
      chainId: chainIdOf(settings.network),
      verifyingContract: settings.asset as Hex,
    },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...{ from, to, nonce, value: BigInt(value) },
      ...{ validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) },
    },
    signature,
  }).catch(() => undefined);
  return signer?.toLowerCase() === from;
}

function no(code: PaymentRefusalCode, message: string, field?: string): never {
  throw new PaymentRefused(code, message, field === undefined ? undefined : { field });
}

/** Sign-in with a wallet: what the front door asks of it (specification 5.2, api-facts 10.1). */
import type { Wallet } from '../../../domain/wallets.ts';

export interface SignIn {
  /**
   * The wallet that signed this header's value, whose nonce is used up by it. Throws SignInRefused (401 with its code), or
   * FareboxError `unavailable` when a smart wallet's chain does not answer.
   */
  verify(header: string): Promise<Wallet>;
  close(): Promise<void>;
}

export const SIGN_IN_CODES = [
  'X402_SIGN_IN_PARSE_ERROR',
  'X402_SIGN_IN_INVALID_PAYLOAD',
  'X402_SIGN_IN_INVALID_MESSAGE',
  'X402_SIGN_IN_MISSING_NONCE',
  'X402_SIGN_IN_ADDRESS_MISMATCH',
  'X402_SIGN_IN_INVALID_CHAIN_ID',
  'X402_SIGN_IN_CHAIN_MISMATCH',
  'X402_SIGN_IN_UNSUPPORTED_CHAIN',
  'X402_SIGN_IN_DOMAIN_MISMATCH',
  'X402_SIGN_IN_TIMESTAMP_MISMATCH',
  'X402_SIGN_IN_EXPIRED',
  'X402_SIGN_IN_FUTURE_TIMESTAMP',
  'X402_SIGN_IN_NOT_BEFORE',
  'X402_SIGN_IN_INVALID_SIGNATURE',
  'X402_SIGN_IN_INVALID_WALLET',
  'X402_SIGN_IN_NONCE_REUSED',
] as const;
export type SignInCode = (typeof SIGN_IN_CODES)[number];

export class SignInRefused extends Error {
  readonly code: SignInCode;

  /** `message`: for the client. */
  constructor(code: SignInCode, message: string) {
    super(message);
    this.name = 'SignInRefused';
    this.code = code;
  }
}

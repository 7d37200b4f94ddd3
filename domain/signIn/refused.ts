/** Refusals of a sign-in with a wallet: one code a rule (WALLET-3). */

export type SignInCode =
  | 'X402_SIGN_IN_PARSE_ERROR'
  | 'X402_SIGN_IN_INVALID_PAYLOAD'
  | 'X402_SIGN_IN_INVALID_MESSAGE'
  | 'X402_SIGN_IN_MISSING_NONCE'
  | 'X402_SIGN_IN_ADDRESS_MISMATCH'
  | 'X402_SIGN_IN_INVALID_CHAIN_ID'
  | 'X402_SIGN_IN_CHAIN_MISMATCH'
  | 'X402_SIGN_IN_UNSUPPORTED_CHAIN'
  | 'X402_SIGN_IN_DOMAIN_MISMATCH'
  | 'X402_SIGN_IN_TIMESTAMP_MISMATCH'
  | 'X402_SIGN_IN_EXPIRED'
  | 'X402_SIGN_IN_FUTURE_TIMESTAMP'
  | 'X402_SIGN_IN_NOT_BEFORE'
  | 'X402_SIGN_IN_INVALID_SIGNATURE'
  | 'X402_SIGN_IN_INVALID_WALLET'
  | 'X402_SIGN_IN_NONCE_REUSED';

export class SignInRefused extends Error {
  readonly code: SignInCode;

  /** `message`: for the client. */
  constructor(code: SignInCode, message: string) {
    super(message);
    this.name = 'SignInRefused';
    this.code = code;
  }
}

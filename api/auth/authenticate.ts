/** Identifies the caller. First step of every route that is not open. */
import { hash } from 'node:crypto';
import type { Caller } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import { looksLikeSecret } from '../../domain/keySecret.ts';
import { SignInRefused } from '../../domain/signIn/refused.ts';
import type { Wallet } from '../../domain/wallets.ts';
import type { DatabaseClock } from '../../infra/postgres/databaseClock.ts';
import type { FoundKey } from '../../infra/postgres/keys.ts';
import { type Answer, json } from '../http/answer.ts';
import type { Access } from '../http/route.ts';
import { type Discovery, discoveryAnswer } from './discovery.ts';
import type { KeyCache } from './keyCache.ts';
import type { KeyUse } from './keyUse.ts';
import { readCredential } from './readCredential.ts';
import type { SignIn } from './signIn/signIn.ts';
import type { SignInThrottle } from './signInThrottle.ts';
import type { WalletCaller } from './walletCallers.ts';

export interface Authentication extends Discovery {
  keys: KeyCache;
  use: KeyUse;
  clock: DatabaseClock;
  signIn: SignIn;
  throttle: SignInThrottle;
  walletCaller(wallet: Wallet): WalletCaller;
  /** One Caller for each state of a key, so that values computed from it are kept (bench `front`). */
  callers: WeakMap<FoundKey, Caller>;
}

export interface AuthRequest {
  rawHeaders: readonly string[];
  /** Path of the request, without its query. */
  path: string;
  access: Exclude<Access, 'open'>;
  /** Address of the client. Computed on demand: only wallets need it. */
  address(): string;
}

/** There is no caller only where the route and the configuration let everybody read the catalogue. */
export type AuthenticationResult = { caller: Caller | undefined } | { answer: Answer };

/** Kinds of access that accept a wallet sign-in in place of a key (API-19). */
const FOR_WALLETS: ReadonlySet<Access> = new Set<Access>(['caller', 'buyer', 'quote', 'own-wallet']);
/** Kinds of access that need no credential where the configuration says so. */
const CATALOGUE: ReadonlySet<Access> = new Set<Access>(['catalogue', 'quote']);

export function isForWallets(access: Access): boolean {
  return FOR_WALLETS.has(access);
}

/** The caller, or the answer to a request without a credential. Throws FareboxError for a bad credential. */
export async function authenticate(
  authentication: Authentication,
  request: AuthRequest,
): Promise<AuthenticationResult> {
  const credential = readCredential(request.rawHeaders);
  switch (credential.kind) {
    case 'bearer':
      if (request.access === 'own-wallet') throw refused('a key where only a wallet is known');
      return { caller: await keyHolder(authentication, credential.secret, request.address) };
    case 'wallet':
      return await walletHolder(authentication, request, credential.header);
    case 'none':
      if (CATALOGUE.has(request.access) && authentication.config.catalogue.openWithoutKey) {
        return { caller: undefined };
      }
      return { answer: await withoutCredential(authentication, request) };
    case 'payment':
      return { answer: json(PAYMENT_NOT_ACCEPTED, { status: 400 }) };
    case 'ambiguous':
      throw new FareboxError({
        code: 'credential_ambiguous',
        message: 'Send exactly one credential: either an API key or one wallet sign-in header.',
      });
    case 'malformed':
      throw refused(credential.kind);
  }
}

/** Holder of a valid key. Undefined for every other request, whatever fails: its answer does not depend on the key. */
export async function findKeyHolder(
  authentication: Authentication,
  { rawHeaders, address }: Pick<AuthRequest, 'rawHeaders' | 'address'>,
): Promise<Caller | undefined> {
  const credential = readCredential(rawHeaders);
  if (credential.kind !== 'bearer') return undefined;
  return await keyHolder(authentication, credential.secret, address).catch(() => undefined);
}

function withoutCredential(discovery: Discovery, { path, access }: AuthRequest): Promise<Answer> {
  return discoveryAnswer(discovery, { path, signInOnly: access === 'own-wallet' });
}

async function walletHolder(
  { signIn, throttle, walletCaller }: Authentication,
  { access, address: addressOf }: AuthRequest,
  header: string,
): Promise<AuthenticationResult> {
  if (!isForWallets(access)) throw refused('a wallet where only keys are known');
  const address = addressOf();
  try {
    return { caller: walletCaller(await signIn.verify(header, address)) };
  } catch (error) {
    if (!(error instanceof SignInRefused)) throw error;
    await throttle.countFailure(address);
    return { answer: signInRefused(error, access) };
  }
}

/** Two bodies for the same refusal (API-21). */
function signInRefused({ message, code }: SignInRefused, access: Access): Answer {
  const body = access === 'own-wallet' ? { error: 'Invalid Sign-in-with-x signature' } : { error: message, code };
  return json(body, { status: 401 });
}

const PAYMENT_NOT_ACCEPTED = {
  error: 'Payment headers are only accepted by POST /x402/top-up.',
  code: 'PAYMENT_HEADER_NOT_ACCEPTED',
};

async function keyHolder(authentication: Authentication, secret: string, addressOf: () => string): Promise<Caller> {
  const found = findKey(authentication, secret, addressOf);
  const key = found instanceof Promise ? await found : found;
  const refusal = whyRefused(key, authentication.clock);
  if (key && !refusal) {
    authentication.use.touch(key.keyId);
    return callerOf(authentication.callers, key);
  }
  await authentication.throttle.countFailure(addressOf());
  throw refusal;
}

/** An address that sent too many unknown keys costs no further query. */
function findKey({ keys, throttle }: Authentication, secret: string, addressOf: () => string) {
  if (!looksLikeSecret(secret)) return undefined;
  const secretHash = hash('sha256', secret, 'hex');
  if (!keys.has(secretHash)) throttle.requireOpenForUnknownKey(addressOf());
  return keys.get(secretHash);
}

function whyRefused(key: FoundKey | undefined, clock: DatabaseClock): FareboxError | undefined {
  if (!key) return refused('unknown');
  if (key.revoked) return refused('revoked');
  if (key.expiresAt !== null && key.expiresAt.getTime() <= clock.now()) return refused('expired');
  if (!key.accountActive) return refused('inactive account', 'Authentication failed: this account is inactive');
  return undefined;
}

function refused(internal: string, message = 'Authentication failed'): FareboxError {
  return new FareboxError({ code: 'credential_invalid', message, internal });
}

function callerOf(callers: Authentication['callers'], key: FoundKey): Caller {
  const before = callers.get(key);
  if (before) return before;
  const caller = {
    accountId: key.accountId,
    keyId: key.keyId,
    keyType: key.keyType,
    modelPrivacy: key.modelPrivacy,
    models: key.models,
    keyExpiresAt: key.expiresAt,
  };
  callers.set(key, caller);
  return caller;
}

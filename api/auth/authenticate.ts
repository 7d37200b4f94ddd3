/** Who is calling: the first step of every route that is not open. */
import { hash } from 'node:crypto';
import type { Caller } from '../../domain/caller.ts';
import { FareboxError } from '../../domain/errors.ts';
import { looksLikeSecret } from '../../domain/keySecret.ts';
import type { DatabaseClock } from '../../infra/postgres/databaseClock.ts';
import type { FoundKey } from '../../infra/postgres/keys.ts';
import { type Answer, json } from '../answer.ts';
import type { Access } from '../route.ts';
import { type DiscoveryConfig, discoveryAnswer } from './discovery.ts';
import type { KeyCache } from './keyCache.ts';
import type { KeyUse } from './keyUse.ts';
import { readCredential } from './readCredential.ts';

export interface Authentication {
  config: DiscoveryConfig;
  keys: KeyCache;
  use: KeyUse;
  clock: DatabaseClock;
}

export interface Knock {
  rawHeaders: readonly string[];
  /** Of the request, without its query. */
  path: string;
  access: Exclude<Access, 'open'>;
}

/** No caller: only where the route and the configuration let everybody read the catalogue. */
export type Identified = { caller: Caller | undefined } | { answer: Answer };

/** The caller, or the answer to one who cannot be told apart; throws FareboxError for a credential that is no good. */
export async function authenticate(authentication: Authentication, knock: Knock): Promise<Identified> {
  const credential = readCredential(knock.rawHeaders);
  switch (credential.kind) {
    case 'bearer':
      return { caller: await keyHolder(authentication, credential.secret) };
    case 'none':
      if (knock.access === 'catalogue' && authentication.config.catalogue.openWithoutKey) {
        return { caller: undefined };
      }
      return { answer: discoveryAnswer(authentication.config, knock.path) };
    case 'payment':
      return { answer: json(PAYMENT_NOT_ACCEPTED, { status: 400 }) };
    case 'ambiguous':
      throw new FareboxError({
        code: 'credential_ambiguous',
        message: 'Send exactly one credential: either an API key or one wallet sign-in header.',
      });
    case 'wallet':
    case 'malformed':
      throw refused(credential.kind);
  }
}

const PAYMENT_NOT_ACCEPTED = {
  error: 'Payment headers are only accepted by POST /x402/top-up.',
  code: 'PAYMENT_HEADER_NOT_ACCEPTED',
};

async function keyHolder({ keys, use, clock }: Authentication, secret: string): Promise<Caller> {
  if (!looksLikeSecret(secret)) throw refused('malformed');
  const known = keys.get(hash('sha256', secret, 'hex'));
  const key = known instanceof Promise ? await known : known;
  if (!key) throw refused('unknown');
  if (key.revoked) throw refused('revoked');
  if (key.expiresAt !== null && key.expiresAt.getTime() <= clock.now()) throw refused('expired');
  if (!key.accountActive)
    throw refused('inactive account', 'Authentication failed: this account is inactive');
  use.touch(key.keyId);
  return toCaller(key);
}

function refused(internal: string, message = 'Authentication failed'): FareboxError {
  return new FareboxError({ code: 'credential_invalid', message, internal });
}

/** The same caller as long as the same is known of the key: what others work out for it need not be worked out again. */
const callers = new WeakMap<FoundKey, Caller>();

function toCaller(key: FoundKey): Caller {
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

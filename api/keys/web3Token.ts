/**
 * The text that a wallet signs to get an API key (api-facts 4.9): a JWT of our own, good for 15 minutes, with a number by
 * which it is taken once.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { FareboxError } from '../../domain/errors.ts';

export const TOKEN_LIFE_MS = 15 * 60_000;
export const LONGEST_TOKEN = 1_000;

const AUDIENCE = 'generate_web3_key';
const HEAD = encode({ alg: 'HS256', typ: 'JWT' });
const PARTS = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

export interface Web3Token {
  id: string;
  expiresAtMs: number;
}

/** `key`: that of the service (infra/postgres/signingKey.ts). */
export function issueToken(key: Buffer, nowMs: number): string {
  const issued = Math.floor(nowMs / 1_000);
  const claims = encode({
    aud: AUDIENCE,
    jti: randomUUID(),
    iat: issued,
    exp: issued + TOKEN_LIFE_MS / 1_000,
  });
  return `${HEAD}.${claims}.${sign(key, claims).toString('base64url')}`;
}

/** Throws FareboxError `invalid_request`, in other words for each way in which it is no good. */
export function readToken(key: Buffer, token: string, nowMs: number): Web3Token {
  const [, head, claims = '', signature = ''] = PARTS.exec(token) ?? [];
  if (head === undefined) throw refused('The token is malformed');
  const expected = sign(key, claims);
  const sent = Buffer.from(signature, 'base64url');
  const isOurs = head === HEAD && sent.length === expected.length && timingSafeEqual(sent, expected);
  if (!isOurs || sent.toString('base64url') !== signature) {
    throw refused('The signature of the token is not valid');
  }
  const { aud, jti, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<
    string,
    unknown
  >;
  if (aud !== AUDIENCE || typeof jti !== 'string' || typeof exp !== 'number') {
    throw refused('The token was made for something else');
  }
  if (nowMs >= exp * 1_000) throw refused('The token has expired');
  return { id: jti, expiresAtMs: exp * 1_000 };
}

/** Not the key itself: it signs other things, too. */
function sign(key: Buffer, claims: string): Buffer {
  const own = createHmac('sha256', key).update(AUDIENCE).digest();
  return createHmac('sha256', own).update(`${HEAD}.${claims}`).digest();
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

export function refused(message: string): FareboxError {
  return new FareboxError({ code: 'invalid_request', message });
}

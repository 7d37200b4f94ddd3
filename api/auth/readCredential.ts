/**
 * Which credential a request carries, read from the headers as they were sent: Node drops a second Authorization, and
 * exactly that must be noticed. The name of the host and every forwarding header are not looked at.
 */

export type Credential =
  | { kind: 'none' }
  | { kind: 'bearer'; secret: string }
  /** A wallet's sign-in. */
  | { kind: 'wallet' }
  /** An Authorization header that is no bearer token. */
  | { kind: 'malformed' }
  /** More than one credential: which one counts would be anybody's guess. */
  | { kind: 'ambiguous' }
  /** A payment, which only the top-up route takes. */
  | { kind: 'payment' };

const NONE: Credential = { kind: 'none' };
const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;
const LONGEST_NAME = 'payment-signature'.length;

/** `rawHeaders` as Node gives them: name, value, name, value … */
export function readCredential(rawHeaders: readonly string[]): Credential {
  let authorization: string | undefined;
  let signIns = 0;
  let commas = false;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length < 9 || name.length > LONGEST_NAME) continue;
    switch (name.toLowerCase()) {
      case 'authorization':
        if (authorization !== undefined) return { kind: 'ambiguous' };
        authorization = rawHeaders[index + 1] ?? '';
        commas ||= authorization.includes(',');
        break;
      case 'sign-in-with-x':
      case 'x-sign-in-with-x':
        signIns += 1;
        commas ||= (rawHeaders[index + 1] ?? '').includes(',');
        break;
      case 'payment-signature':
      case 'x-402-payment':
      case 'x-payment':
        return { kind: 'payment' };
    }
  }
  if (commas || signIns > 1 || (signIns === 1 && authorization !== undefined)) return { kind: 'ambiguous' };
  if (signIns === 1) return { kind: 'wallet' };
  if (authorization === undefined) return NONE;
  const secret = BEARER.exec(authorization.trim())?.[1];
  return secret === undefined ? { kind: 'malformed' } : { kind: 'bearer', secret };
}

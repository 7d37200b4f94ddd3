/**
 * Reads the credential of a request from its raw headers: Node drops a second Authorization, and exactly that must be
 * noticed. The host name and forwarding headers are ignored.
 */

export type Credential =
  | { kind: 'none' }
  | { kind: 'bearer'; secret: string }
  /** Sign-in of a wallet; `header` as it was sent. */
  | { kind: 'wallet'; header: string }
  /** An Authorization header without a bearer token. */
  | { kind: 'malformed' }
  /** More than one credential: it is unclear which one counts. */
  | { kind: 'ambiguous' }
  /** A payment. Only the top-up route accepts one. */
  | { kind: 'payment' };

const NONE: Credential = { kind: 'none' };
const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;
const MAX_NAME_LENGTH = 'payment-signature'.length;

/** `rawHeaders` as Node gives them: name, value, name, value … */
export function readCredential(rawHeaders: readonly string[]): Credential {
  let authorization: string | undefined;
  let signIn: string | undefined;
  let credentials = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length < 9 || name.length > MAX_NAME_LENGTH) continue;
    switch (name.toLowerCase()) {
      case 'authorization':
        authorization = rawHeaders[index + 1] ?? '';
        credentials += 1;
        break;
      case 'sign-in-with-x':
      case 'x-sign-in-with-x':
        signIn = rawHeaders[index + 1] ?? '';
        credentials += 1;
        break;
      case 'payment-signature':
      case 'x-402-payment':
      case 'x-payment':
        return { kind: 'payment' };
    }
  }
  const sent = signIn ?? authorization;
  if (sent === undefined) return NONE;
  if (credentials > 1 || sent.includes(',')) return { kind: 'ambiguous' };
  if (signIn !== undefined) return { kind: 'wallet', header: signIn };
  const secret = BEARER.exec(sent.trim())?.[1];
  return secret === undefined ? { kind: 'malformed' } : { kind: 'bearer', secret };
}

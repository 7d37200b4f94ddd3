/** Where the audit trail goes on: after which act. The act must be the caller's own, which the database is asked. */

const MAX_ID = 2n ** 63n - 1n;

export function encodeActId(id: string): string {
  return Buffer.from(id).toString('base64url');
}

/** Undefined for anything that `encodeActId` did not make of an id. */
export function decodeActId(cursor: string): string | undefined {
  const id = Buffer.from(cursor, 'base64url').toString('latin1');
  return /^[1-9]\d{0,18}$/.test(id) && BigInt(id) <= MAX_ID && encodeActId(id) === cursor ? id : undefined;
}

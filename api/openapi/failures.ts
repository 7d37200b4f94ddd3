/** Errors of a route: those that follow from its row, and its own. */
import type { z } from 'zod';
import type { ErrorCode } from '../../domain/errors.ts';
import { isForWallets } from '../auth/authenticate.ts';
import { errorShape, errorStatus } from '../http/errors.ts';
import type { Route } from '../http/route.ts';
import { discoveryBody, ERROR_BODIES, topUpBody } from './errorBodies.ts';
import { ERROR_MEANINGS } from './errorCatalogue.ts';

export interface Failure {
  description: string;
  bodies: z.ZodType[];
}

export function failuresOf(route: Route): Map<number, Failure> {
  const failures = new Map<number, Failure>();
  for (const code of [...new Set(codesOf(route))]) {
    const status = errorStatus(code);
    const failure = failures.get(status) ?? { description: '', bodies: [] };
    failure.description += `${failure.description && '\n'}- \`${code}\`: ${ERROR_MEANINGS[code]}`;
    const body = code === 'credential_missing' ? discoveryBody : ERROR_BODIES[errorShape(code)];
    if (!failure.bodies.includes(body)) failure.bodies.push(body);
    failures.set(status, failure);
  }
  addWalletFailures(route, failures);
  return new Map([...failures].sort(([left], [right]) => left - right));
}

/** Bodies for callers with a wallet (API-21): additional bodies of existing statuses. */
function addWalletFailures({ access }: Route, failures: ReadonlyMap<number, Failure>): void {
  if (!isForWallets(access)) return;
  const add = (status: number, words: string, body: z.ZodType) => {
    const failure = failures.get(status);
    if (!failure) return;
    failure.description += `\n- ${words}`;
    if (!failure.bodies.includes(body)) failure.bodies.push(body);
  };
  add(429, '`X402_CONCURRENCY_LIMIT`: the wallet has five requests in flight already.', ERROR_BODIES.coded);
  if (access === 'own-wallet') return;
  add(401, '`X402_SIGN_IN_…`: the sign-in of the wallet is refused, for the reason in `code`.', ERROR_BODIES.coded);
  if (access === 'buyer') {
    add(402, '`PAYMENT_REQUIRED`: the wallet has less than 0.10 USD; the body says how to top up.', topUpBody);
  }
}

function codesOf({ access, body, query, describes }: Route): ErrorCode[] {
  const codes: ErrorCode[] = [];
  if (access !== 'open') {
    codes.push('credential_ambiguous', 'credential_invalid', 'credential_missing', 'rate_limited');
  }
  if (access === 'admin') codes.push('admin_key_required');
  if (access === 'buyer') codes.push('insufficient_balance', 'key_limit_exceeded');
  if (query || body) codes.push('invalid_request');
  if (body) codes.push('invalid_content_type', 'invalid_json', 'body_too_large');
  if (body?.needsModel) codes.push('model_not_found', 'model_offline', 'forbidden');
  return [...codes, ...(describes?.errors ?? []), 'internal', 'unavailable', 'timed_out'];
}

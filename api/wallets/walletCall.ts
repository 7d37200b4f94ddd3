/**
 * Steps around each call of a wallet: a limit of concurrent calls, top-up instructions in refusals for missing funds,
 * and the balance in every answer.
 */
import { FareboxError } from '../../domain/errors.ts';
import { canConsume } from '../../domain/ledger.ts';
import { callsInFlightOf } from '../../domain/limits/limits.ts';
import { formatNano } from '../../domain/money.ts';
import type { Funds, Payer } from '../../infra/postgres/funds.ts';
import type { Leave } from '../../infra/redis/concurrencyLimiter.ts';
import { topUpNeeded } from '../auth/topUpNeeded.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, json } from '../http/answer.ts';
import type { ApiContext } from '../http/requestState.ts';
import { setHeaders } from '../http/respond.ts';
import type { CallLimits } from '../limits/callLimits.ts';
import type { FundsGate } from '../paid/fundsGate.ts';

function isSolvent(funds: Funds): boolean {
  return funds.account === 'active' && canConsume(funds);
}

type WalletCallDependencies = Pick<Dependencies, 'core' | 'accounts' | 'limits'>;

/** A wallet has no key. */
function payerOf(accountId: string): Payer {
  return { accountId, keyId: null };
}

interface WalletCallInput {
  accountId: string;
  ctx: ApiContext;
}

/**
 * Serves a call of a wallet, or refuses it; `work` is the call, `address` its origin. Throws the errors of the work,
 * and FareboxError `rate_limited` when the address has too many calls of wallets without funds.
 */
export async function serveWallet(
  serving: WalletCallDependencies,
  { accountId, ctx, call, address }: WalletCallInput & { call: CallLimits; address: () => string },
  work: () => Promise<Answer>,
): Promise<Answer> {
  const { fundsGate } = serving.accounts;
  const { calls: limits, signInThrottle, walletCalls } = serving.limits;
  const funds = await fundsGate.requireActive(accountId);
  if (isSolvent(funds)) signInThrottle.notePaying(accountId);
  else await signInThrottle.countFailure(address());
  const most = callsInFlightOf(limits.overrideOf(accountId), true);
  const leave = await walletCalls.enter(accountId, ctx.state.requestId, most);
  if (!leave) {
    call.noteRefusal('CALLS_IN_FLIGHT');
    return json(TOO_MANY, { status: 429, headers: { 'Retry-After': '1' } });
  }
  let isLong = false;
  try {
    const answer = await work();
    isLong = answer.kind !== 'json' && answer.kind !== 'prepared';
    return answer;
  } catch (error) {
    const instead = await insteadOf(error, serving, { accountId, ctx });
    if (instead) return instead;
    throw error;
  } finally {
    const left = isLong ? leaveAtLast(ctx, leave) : leave();
    await Promise.all([tellBalance(fundsGate, { accountId, ctx }), left]);
  }
}

/** Stream that follows the answer: the call lasts until its last byte. */
function leaveAtLast({ res }: ApiContext, leave: Leave): Promise<void> | undefined {
  if (res.destroyed) return leave();
  res.once('close', () => void leave());
  return undefined;
}

const TOO_MANY = { error: 'Too many concurrent requests', code: 'X402_CONCURRENCY_LIMIT' };

/** Adds top-up instructions for a wallet that cannot pay (WALLET-8). */
async function insteadOf(
  error: unknown,
  serving: WalletCallDependencies,
  { accountId, ctx }: WalletCallInput,
): Promise<Answer | undefined> {
  if (!(error instanceof FareboxError) || error.code !== 'insufficient_balance') return undefined;
  const funds = await serving.accounts.fundsGate.read(payerOf(accountId));
  return await topUpNeeded(serving, { path: ctx.path, funds });
}

/** After the charge; for an answer that is still being delivered, after its hold. */
async function tellBalance(fundsGate: FundsGate, { accountId, ctx }: WalletCallInput): Promise<void> {
  try {
    const { usd, bundled } = await fundsGate.read(payerOf(accountId));
    setHeaders(ctx.res, { 'X-Balance-Remaining': formatNano(usd + bundled) });
  } catch (err) {
    // The work is done and paid; only the balance is unknown.
    ctx.state.log.warn({ err }, 'a wallet could not be told its balance');
  }
}

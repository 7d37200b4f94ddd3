/**
 * What is done around each call of a wallet and of nobody else: so many in flight at once, funds before anything is worked
 * on, and the balance on every answer.
 */
import { LRUCache } from 'lru-cache';
import { FareboxError } from '../domain/errors.ts';
import { canConsume } from '../domain/ledger.ts';
import { formatNano } from '../domain/money.ts';
import { INSUFFICIENT } from '../domain/refusals.ts';
import type { Funds, FundsReader } from '../infra/postgres/funds.ts';
import type { Crowd, Leave } from '../infra/redis/crowd.ts';
import { type Answer, json } from './answer.ts';
import { topUpNeeded } from './auth/topUpNeeded.ts';
import type { Dependencies } from './dependencies.ts';
import { errorAnswer } from './errors.ts';
import { isDryRun } from './fixedPrice.ts';
import type { ApiContext } from './requestState.ts';
import { setHeaders } from './respond.ts';
import type { Access } from './route.ts';

/** So many calls a wallet may have in flight (api-facts 5). */
export const MOST_CALLS_OF_A_WALLET = 5;
/** What was read so short a time ago that an account had funds is believed: the ledger decides about money anyway. */
const FRESH_MS = 1_000;
const MOST_KNOWN = 10_000;

export interface WalletDesk {
  /** Of an account that could pay for something when it was last looked at; else a fresh look. */
  standing(accountId: string): Promise<Funds>;
  read(accountId: string): Promise<Funds>;
  /** The account's status changed. */
  forget(accountId: string): void;
  enter: Crowd['enter'];
  /** What it has, as `standing`. Throws FareboxError `credential_invalid` for a suspended account. */
  requireActive(accountId: string): Promise<Funds>;
}

export function createWalletDesk({ reader, crowd }: { reader: FundsReader; crowd: Crowd }): WalletDesk {
  const solvent = new LRUCache<string, Funds>({ max: MOST_KNOWN, ttl: FRESH_MS });
  let changes = 0;

  async function read(accountId: string): Promise<Funds> {
    const changesBefore = changes;
    const funds = await reader.read(accountId);
    if (!isSolvent(funds)) solvent.delete(accountId);
    else if (changes === changesBefore) solvent.set(accountId, funds);
    return funds;
  }

  const standing = async (accountId: string) => solvent.get(accountId) ?? (await read(accountId));

  return {
    read,
    standing,
    async requireActive(accountId) {
      const funds = await standing(accountId);
      if (funds.account === 'suspended') throw inactive();
      return funds;
    },
    forget(accountId) {
      changes += 1;
      solvent.delete(accountId);
    },
    enter: crowd.enter,
  };
}

function isSolvent(funds: Funds): boolean {
  return funds.account === 'active' && canConsume(funds);
}

type Serving = Pick<Dependencies, 'config' | 'payments' | 'offers' | 'wallets' | 'signInDoor'>;

interface Asking {
  accountId: string;
  ctx: ApiContext;
}

/**
 * Serves a call of a wallet, or refuses it; `work` is the call, `address` where it comes from. Throws what the work throws,
 * and FareboxError `rate_limited` for wallets without funds of which that address has too many.
 */
export async function serveWallet(
  serving: Serving,
  { accountId, ctx, address }: Asking & { address: () => string },
  work: () => Promise<Answer>,
): Promise<Answer> {
  const { wallets, signInDoor } = serving;
  const funds = await wallets.requireActive(accountId);
  if (isSolvent(funds)) signInDoor.notePaying(accountId);
  else await signInDoor.countVain(address());
  const leave = await wallets.enter(accountId, ctx.state.requestId);
  if (!leave) return json(TOO_MANY, { status: 429, headers: { 'Retry-After': '1' } });
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
    await Promise.all([tellBalance(wallets, { accountId, ctx }), left]);
  }
}

/** Bytes that are still to be sent when the answer is there: the call lasts until the last of them. */
function leaveAtLast({ res }: ApiContext, leave: Leave): Promise<void> | undefined {
  if (res.destroyed) return leave();
  res.once('close', () => void leave());
  return undefined;
}

const TOO_MANY = { error: 'Too many concurrent requests', code: 'X402_CONCURRENCY_LIMIT' };

function inactive(): FareboxError {
  const message = 'Authentication failed: this account is inactive';
  return new FareboxError({ code: 'credential_invalid', message, internal: 'inactive account of a wallet' });
}

/**
 * The answer to a wallet that could not pay for the least. Undefined: it may go on. What may cost nothing goes on anyway, if
 * the account is one: a dry run, and what asks again for an order that was paid.
 */
export async function refusalOfPoor(
  serving: Serving,
  { accountId, ctx, access }: Asking & { access: Access },
): Promise<Answer | undefined> {
  if (access !== 'buyer') return undefined;
  const funds = await serving.wallets.standing(accountId);
  if (isSolvent(funds)) return undefined;
  const mayBeFree = isDryRun(ctx.req) || ctx.req.headers['idempotency-key'] !== undefined;
  if (mayBeFree && funds.account !== 'none') return undefined;
  const needed = await topUpNeeded(serving, { path: ctx.path, funds });
  return needed ?? errorAnswer(new FareboxError(INSUFFICIENT));
}

/** Whoever cannot pay is told how to top up, whatever is left (specification 5.4). */
async function insteadOf(
  error: unknown,
  serving: Serving,
  { accountId, ctx }: Asking,
): Promise<Answer | undefined> {
  if (!(error instanceof FareboxError) || error.code !== 'insufficient_balance') return undefined;
  const funds = await serving.wallets.read(accountId);
  return await topUpNeeded(serving, { path: ctx.path, funds });
}

/** After the charge; of what is still being delivered or made, after its hold. */
async function tellBalance(wallets: WalletDesk, { accountId, ctx }: Asking): Promise<void> {
  try {
    const { usd, bundled } = await wallets.read(accountId);
    setHeaders(ctx.res, { 'X-Balance-Remaining': formatNano(usd + bundled) });
  } catch (err) {
    // What was done is done, and paid; only nobody knows what is left.
    ctx.state.log.warn({ err }, 'a wallet could not be told its balance');
  }
}

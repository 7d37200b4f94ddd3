/**
 * Idempotency-Key (RPC-8): one request and one answer per account and key for 24 hours, in all processes, whatever dies
 * in between. Calls that change the chain are never sent again blindly (RPC-9).
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { hasWrites } from '../../domain/rpc/request.ts';
import { failpoint } from '../../infra/failpoints.ts';
import type { SqlClient } from '../../infra/postgres/pool.ts';
import {
  type AnswerKey,
  abandonClaim,
  claimAnswer,
  dropClaim,
  isClaimHeld,
  isKeyKnown,
  type KeptAnswer,
  keepAnswer,
  type OwnClaim,
  renameCharge,
  renewClaim,
} from '../../infra/postgres/rpcAnswers.ts';
import { transactionHash } from '../../providers/rpc/transactionHash.ts';
import { type Answer, preparedAnswer } from '../http/answer.ts';
import { idempotencyMismatch } from '../queue/idempotency.ts';
import { relayHeaders } from './answerCalls.ts';
import { UPSTREAM_MS } from './askNodes.ts';
import { type PaidCalls, payForCalls, type RpcBuyer, type RpcDependencies, type RpcOrder } from './payForCalls.ts';
import { admitRpc } from './rpcLimits.ts';
import { type AnswerKeeper, toAnswer } from './toAnswer.ts';

export interface KeyedRequest extends Pick<RpcOrder, 'network' | 'asked'> {
  key: string;
}

const LIFE_MS = 24 * 3_600_000;
/** Lease after which a dead process is detected. */
const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 4_000;
/** Time for which a concurrent request waits for the answer of the first: longer than the nodes may take. */
const MAX_WAIT_MS = UPSTREAM_MS + 4_000;
/**
 * Number of times that a broken answer is made again for the same money: a client that breaks it on purpose would use
 * nodes for free.
 */
const MAX_ATTEMPTS = 5;

export async function answerKeyedRequest(
  dependencies: RpcDependencies,
  buyer: RpcBuyer,
  keyed: KeyedRequest,
): Promise<Answer> {
  const { accountId } = buyer.caller;
  const own: OwnClaim = { accountId, key: keyed.key, owner: randomUUID() };
  const digest = createHash('sha256').update(`${keyed.network.slug}\n${keyed.asked.canonical()}`).digest();
  const wanted = { ...own, digest, operationId: `rpc-${own.owner}`, leaseMs: LEASE_MS, lifeMs: LIFE_MS };
  const until = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const claimed = await claimAnswer(dependencies.core.sql, wanted);
    if (claimed.outcome === 'mismatch') throw idempotencyMismatch();
    if (claimed.outcome === 'answered') return replay(claimed.answer, dependencies.core.config.prices.rpcCredit);
    if (claimed.outcome === 'mine') return await carryOut(dependencies, buyer, { keyed, own, claimed });
    if (performance.now() > until) {
      throw conflict('A request with this Idempotency-Key is still under way. Please ask again later.');
    }
    await buyer.waitFor(claimEnded(dependencies, own, until));
  }
}

/** Whether a request with this key has, or will have, an answer for its repetition. */
export function isKeyedReplay(sql: SqlClient, name: AnswerKey): Promise<boolean> {
  return isKeyKnown(sql, { ...name, lifeMs: LIFE_MS });
}

function replay({ status, body, credits, requestId, cached }: KeptAnswer, credit: LedgerPrice): Answer {
  if (body === undefined) {
    const message =
      'The request with this Idempotency-Key was answered, but the answer was too large to be kept, or broke off too often. Use another key to ask again.';
    throw conflict(message);
  }
  const headers = {
    ...relayHeaders({ credits, cached }, credit),
    ...{ 'X-Request-ID': requestId, 'Idempotent-Replayed': 'true' },
  };
  return preparedAnswer(body, { status, headers });
}

const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 250;

/** Waiters in this process share one poll. */
function claimEnded(dependencies: RpcDependencies, { accountId, key }: AnswerKey, until: number): Promise<void> {
  const name = `${accountId} ${key}`;
  const { rpcClaims } = dependencies.accounts;
  const known = rpcClaims.get(name);
  if (known) return known;
  const look = async () => {
    for (let pauseMs = FIRST_PAUSE_MS; performance.now() < until; pauseMs *= 1.5) {
      await sleep(Math.min(pauseMs, MAX_PAUSE_MS));
      if (!(await isClaimHeld(dependencies.core.sql, { accountId, key }))) return;
    }
  };
  const looking = look().finally(() => rpcClaims.delete(name));
  rpcClaims.set(name, looking);
  return looking;
}

interface OwnRequest {
  keyed: KeyedRequest;
  own: OwnClaim;
  claimed: { operationId: string; attempt: number };
}

async function carryOut(dependencies: RpcDependencies, buyer: RpcBuyer, request: OwnRequest): Promise<Answer> {
  const { keyed, own, claimed } = request;
  const lease = keepLease(dependencies, own);
  let mayHaveBeenSent = claimed.attempt > 1;
  try {
    await failpoint('rpc-claimed');
    const admission = await admitRpc(dependencies.limits.calls, own.accountId, {
      request: false,
      credits: keyed.asked.credits,
    });
    if (admission.refusal) {
      lease.end();
      await letGo(dependencies, own, mayHaveBeenSent);
      return admission.refusal;
    }
    const known = await knownResults(dependencies, request).catch(async (error) => {
      await admission.correct(0);
      throw error;
    });
    const anotherId = async () => {
      const operationId = `rpc-${own.owner}`;
      await renameCharge(dependencies.core.sql, own, operationId);
      return operationId;
    };
    const paid = await payForCalls(dependencies, buyer, {
      ...{ network: keyed.network, asked: keyed.asked, admission, known, anotherId },
      ...{ goesOn: true, keepsBill: true },
      operationId: claimed.operationId,
    });
    if (paid.kind === 'failed') {
      mayHaveBeenSent ||= paid.maybeSent && hasWrites(keyed.asked);
      throw paid.error;
    }
    // It is paid: a repetition with the key gets it for that money, also if it cannot be stored now.
    mayHaveBeenSent = true;
    return await toAnswer(paid, {
      ...{ asked: keyed.asked, credit: dependencies.core.config.prices.rpcCredit },
      keeper: keeperOf(dependencies, buyer, { request, paid, end: lease.end }),
    });
  } catch (error) {
    lease.end();
    await letGo(dependencies, own, mayHaveBeenSent || !isCertain(error));
    throw error;
  }
}

/** Releases the claim so that a retry can take it. Keeps the results if a node may have received the request. */
async function letGo({ core: { sql } }: RpcDependencies, own: OwnClaim, mayHaveBeenSent: boolean): Promise<void> {
  if (mayHaveBeenSent) await abandonClaim(sql, own);
  else await dropClaim(sql, own);
}

/** Errors after which nothing was sent, or certainly nothing arrived. */
const CERTAIN = new Set(['insufficient_balance', 'key_limit_exceeded', 'provider_failed', 'provider_busy']);

function isCertain(error: unknown): boolean {
  return error instanceof FareboxError && CERTAIN.has(error.code);
}

/** A whole answer is stored before it is sent; a streamed one at its end, or it is requested anew. */
function keeperOf(
  { core: { sql } }: RpcDependencies,
  { requestId, log }: RpcBuyer,
  { request, paid, end }: { request: OwnRequest; paid: PaidCalls; end: () => void },
): AnswerKeeper {
  const { own, claimed } = request;
  const { credits, cached } = paid.bill;
  async function keep(body: Buffer | undefined): Promise<void> {
    end();
    const kept = await keepAnswer(sql, own, { status: 200, body, credits, requestId, cached });
    if (!kept) log.warn('the claim on an Idempotency-Key was lost before its answer was kept');
  }
  return {
    keep,
    async forget() {
      if (claimed.attempt >= MAX_ATTEMPTS) return await keep(undefined);
      end();
      await abandonClaim(sql, own);
    },
  };
}

function keepLease({ core: { sql } }: RpcDependencies, own: OwnClaim): { end(): void } {
  const timer = setInterval(() => {
    // The next renewal makes up for a missed one; a claim that was taken over stays lost.
    renewClaim(sql, own, LEASE_MS).catch(() => undefined);
  }, RENEW_EVERY_MS);
  timer.unref();
  return { end: () => clearInterval(timer) };
}

/**
 * Results after an attempt that was lost: a transaction that the network knows is not sent again, and its hash is the
 * result. Throws where that cannot be determined.
 */
async function knownResults(dependencies: RpcDependencies, request: OwnRequest): Promise<ReadonlyMap<number, string>> {
  const { network, asked } = request.keyed;
  const known = new Map<number, string>();
  if (request.claimed.attempt === 1) return known;
  const { calls } = asked;
  await Promise.all(
    Array.from({ length: calls.length }, async (_, index) => {
      const { name, isWrite } = calls.method(index);
      if (!isWrite) return;
      const hash = transactionHash(name, calls.params(index));
      if (hash === undefined) throw conflict(CANNOT_TELL);
      const signal = AbortSignal.timeout(LOOK_UP_MS);
      const there = await dependencies.providers.rpc
        .knowsTransaction(network.slug, hash, signal)
        .catch(() => undefined);
      if (there === undefined) {
        throw new FareboxError({ code: 'unavailable', message: CANNOT_TELL_NOW, retryAfterSeconds: 5 });
      }
      if (there) known.set(index, JSON.stringify(hash));
    }),
  );
  return known;
}

const LOOK_UP_MS = 10_000;
const CANNOT_TELL =
  'An earlier request with this Idempotency-Key may have handed this in, and that cannot be looked up. Nothing was sent again; to send it all the same, use another key.';
const CANNOT_TELL_NOW =
  'An earlier request with this Idempotency-Key may have handed this in, and that cannot be looked up at the moment. Nothing was sent again; please ask again with the same key.';

function conflict(message: string): FareboxError {
  return new FareboxError({ code: 'conflict', message });
}

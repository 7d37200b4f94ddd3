/** One paid request to a network: hold the highest cost, call the nodes, settle the actual cost. */
import type { LedgerPrice } from '../../domain/ledger.ts';
import { creditsOfParts, priceOfCredits } from '../../domain/rpc/bill.ts';
import { failpoint } from '../../infra/failpoints.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';
import type { Buyer, LedgerHold } from '../paid/ledgerHold.ts';
import { type PurchaseTerms, purchase } from '../paid/purchase.ts';
import { type AnsweredCalls, answerCalls, type FailedCalls, nodeTimeoutFailure } from './answerCalls.ts';
import { askNodes, type NodeOrder, NodeTimeLimit } from './askNodes.ts';
import type { RpcAdmission } from './rpcLimits.ts';

export type RpcBuyer = Buyer & Pick<RouteRequest<unknown, unknown, 'buyer'>, 'requestId' | 'whenGone' | 'waitFor'>;
export type RpcDependencies = Pick<Dependencies, 'core' | 'accounts' | 'limits' | 'providers'>;

export interface RpcOrder extends NodeOrder {
  admission: Extract<RpcAdmission, { refusal: undefined }>;
  /** Id of the charge. */
  operationId: string;
  /** The answer is stored, or a call changes the chain: the request goes on when the client leaves. */
  goesOn: boolean;
  /** Id for a further charge after the first was refunded. */
  anotherId?: () => Promise<string>;
  /** The answer is stored for a repetition, which gets it for the same bill: the deadline does not undo that. */
  keepsBill: boolean;
}

/** `stop`: ends the stream of the node. */
export type PaidCalls =
  | Extract<AnsweredCalls, { kind: 'whole' }>
  | (Extract<AnsweredCalls, { kind: 'stream' }> & { stop(): void });

/** Longer than the nodes may take, including a stream and the settlement. */
const HOLD_MS = 240_000;

/** Throws FareboxError `insufficient_balance` or `key_limit_exceeded`, and the error of a client that disconnected. */
export async function payForCalls(
  dependencies: RpcDependencies,
  buyer: RpcBuyer,
  order: RpcOrder,
): Promise<PaidCalls | FailedCalls> {
  const { admission } = order;
  let used = 0;
  try {
    const paid = await purchase(dependencies, buyer, termsOf(dependencies, buyer, order));
    if (paid.kind !== 'failed') used = paid.bill.credits;
    return paid;
  } finally {
    await admission.correct(used);
  }
}

function termsOf(
  dependencies: RpcDependencies,
  buyer: RpcBuyer,
  order: RpcOrder,
): PurchaseTerms<PaidCalls | FailedCalls> {
  const { network, asked, operationId, anotherId, keepsBill } = order;
  const credit = dependencies.core.config.prices.rpcCredit;
  const sku = `crypto-rpc-${network.slug}`;
  const snapshot = {
    sku,
    modelId: sku,
    provider: 'rpc',
    unit: 'credit',
    units: String(asked.credits),
    requestId: buyer.requestId,
    pricePerUnitUsd: credit.usd.toString(),
    notes: 'API Inference',
  };
  return {
    operationId,
    anotherId,
    keepsBill,
    snapshot,
    ttlMs: HOLD_MS,
    bound: priceOfCredits(asked.credits, credit),
    work: (hold) => askAndSettle(dependencies, buyer, { order, hold }),
  };
}

async function askAndSettle(
  dependencies: RpcDependencies,
  buyer: RpcBuyer,
  { order, hold }: { order: RpcOrder; hold: LedgerHold },
): Promise<PaidCalls | FailedCalls> {
  const { asked } = order;
  const time = new NodeTimeLimit(buyer, order.goesOn);
  const startedAt = performance.now();
  let answered: AnsweredCalls | undefined;
  try {
    await failpoint('rpc-held');
    // The outcomes have no variable: they are freed while the bill is written.
    answered = answerCalls(
      { budget: dependencies.limits.answerBudget, accountId: buyer.caller.accountId },
      asked,
      await buyer.waitFor(askNodes(dependencies.providers.rpc, order, time.signal)),
    );
    await failpoint('rpc-answered');
    if (answered.kind === 'failed') return answered;
    const executionMs = Math.round(performance.now() - startedAt);
    const credit = dependencies.core.config.prices.rpcCredit;
    // An earlier attempt may have settled the hold already: the first bill stands.
    answered.bill.credits = await settle(hold, { credits: answered.bill.credits, executionMs, credit });
    await failpoint('rpc-settled');
    if (answered.kind === 'whole') return answered;
    time.extend();
    return { ...answered, stop: () => time.end() };
  } catch (error) {
    time.end();
    if (answered?.kind === 'whole') answered.leave?.();
    if (time.isOver) return nodeTimeoutFailure();
    throw error;
  } finally {
    if (!time.isExtended) time.end();
  }
}

/** Returns the credits that were taken. */
async function settle(
  hold: LedgerHold,
  { credits, executionMs, credit }: { credits: number; executionMs: number; credit: LedgerPrice },
): Promise<number> {
  // An item can be free: an entry of zero would be meaningless.
  if (credits === 0 && hold.state === 'held') {
    await hold.release();
    return 0;
  }
  const details = { units: String(credits), inferenceExecutionTime: executionMs };
  const { parts } = await hold.settle(priceOfCredits(credits, credit), details);
  return credit.usd === 0n && credit.diem === 0n ? credits : creditsOfParts(parts, credit);
}

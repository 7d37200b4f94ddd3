/** One paid request to a network: hold the most that it can cost, ask the nodes, settle what it did cost. */
import { FareboxError } from '../../domain/errors.ts';
import type { LedgerPrice } from '../../domain/ledger.ts';
import { creditsOfParts, priceOfCredits } from '../../domain/rpc/bill.ts';
import type { RpcNetwork } from '../../domain/rpc/networks.ts';
import { type RpcRequest, writes } from '../../domain/rpc/request.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { point } from '../../infra/points.ts';
import { resultOf } from '../../providers/rpc/outcomes.ts';
import type { RpcOutcome, RpcStream } from '../../providers/rpc/rpcUpstreams.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteRequest } from '../http/route.ts';
import type { Buyer, LedgerHold } from '../paid/ledgerHold.ts';
import { type PurchaseTerms, purchase } from '../paid/purchase.ts';
import { type Room, takeRoom } from './roomForAnswers.ts';
import { type AllFailed, allFailed, billOf, bodyOf, type RpcBill, sizeOfBody } from './rpcAnswer.ts';
import type { RpcAdmission } from './rpcLimits.ts';

export type RpcVisit = Buyer &
  Pick<RouteRequest<unknown, unknown, 'buyer'>, 'requestId' | 'whenGone' | 'waitFor'>;
export type RpcMeans = Pick<Dependencies, 'config' | 'ledger' | 'rpc' | 'limits' | 'sql'>;

export interface RpcOrder {
  network: RpcNetwork;
  asked: RpcRequest;
  admission: Extract<RpcAdmission, { refusal: undefined }>;
  /** Of the charge. */
  operationId: string;
  /** Its answer is kept, or it changes the chain: it goes on when the client leaves. */
  goesOn: boolean;
  /** Results that are known already, by item, as JSON text: these are not asked again. */
  known: ReadonlyMap<number, string>;
  /** The charge under that id was given back: under which the next one is to be. */
  anotherId?: () => Promise<string>;
  /** Its answer is kept for a repetition, which gets it for the same bill: the deadline does not undo that. */
  keepsBill: boolean;
}

export type Sold =
  /** `room`: until it is with the client, or nobody takes it any more. */
  | { kind: 'whole'; body: Buffer; bill: RpcBill; room: Room }
  | { kind: 'stream'; value: RpcStream['value']; bill: RpcBill; stop(): void }
  | ({ kind: 'failed' } & AllFailed);

/** A little more than the time of the nodes, so that their own words count (RPC-10). */
export const UPSTREAM_MS = 32_000;
/** A large answer may take its time once it has begun. */
const STREAM_MS = 120_000;
/** Longer than both, and settling. */
const HOLD_MS = 240_000;

/** Throws FareboxError `insufficient_balance` or `key_limit_exceeded`, and what comes of a client that went away. */
export async function sell(means: RpcMeans, visit: RpcVisit, order: RpcOrder): Promise<Sold> {
  const { admission } = order;
  let used = 0;
  try {
    const sold = await purchase(means, visit, termsOf(means, visit, order));
    if (sold.kind !== 'failed') used = sold.bill.credits;
    return sold;
  } finally {
    await admission.correct(used);
  }
}

function termsOf(means: RpcMeans, visit: RpcVisit, order: RpcOrder): PurchaseTerms<Sold> {
  const { requestId } = visit;
  const { network, asked, operationId, anotherId, keepsBill } = order;
  const credit = means.config.prices.rpcCredit;
  const sku = `crypto-rpc-${network.slug}`;
  const snapshot = {
    sku,
    modelId: sku,
    provider: 'rpc',
    unit: 'credit',
    units: String(asked.credits),
    requestId,
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
    work: (hold) => askAndSettle(means, visit, { order, hold }),
  };
}

async function askAndSettle(
  means: RpcMeans,
  visit: RpcVisit,
  { order, hold }: { order: RpcOrder; hold: LedgerHold },
): Promise<Sold> {
  const { asked } = order;
  const line = openLine(visit, order);
  const startedAt = performance.now();
  let room: Room | undefined;
  try {
    await point('rpc-held');
    const told = tell(visit, asked, await visit.waitFor(ask(means, order, line.signal)));
    room = told.kind === 'whole' ? told.room : undefined;
    await point('rpc-answered');
    if (told.kind === 'failed') return told;
    const { bill } = told;
    const executionMs = Math.round(performance.now() - startedAt);
    const credits = await settle(hold, {
      credits: bill.credits,
      executionMs,
      credit: means.config.prices.rpcCredit,
    });
    await point('rpc-settled');
    if (told.kind === 'stream') line.extend(STREAM_MS);
    const charged = { ...bill, credits };
    return told.kind === 'whole' ? { ...told, bill: charged } : { ...told, bill: charged, stop: line.close };
  } catch (error) {
    line.close();
    room?.leave?.();
    if (line.isLate()) return { kind: 'failed', ...(allFailed(lateOutcomes(asked)) as AllFailed) };
    throw error;
  } finally {
    line.pause();
  }
}

const NO_ROOM: AllFailed = {
  error: new FareboxError({
    ...{ code: 'provider_busy', retryAfterSeconds: 1 },
    message: 'Too many large answers wait to be read. Nothing was charged for this one.',
  }),
  maybeSent: false,
};

type Told =
  | { kind: 'whole'; body: Buffer; bill: RpcBill; room: Room }
  | { kind: 'stream'; value: RpcStream['value']; bill: RpcBill }
  | ({ kind: 'failed' } & AllFailed);

/** What was answered, as it is sent: while it is settled nothing else of it is kept. */
function tell({ caller }: RpcVisit, asked: RpcRequest, answered: RpcOutcome[] | RpcStream): Told {
  if (!Array.isArray(answered)) {
    return { kind: 'stream', value: answered.value, bill: { credits: asked.credits, cached: undefined } };
  }
  const failed = allFailed(answered);
  if (failed) return { kind: 'failed', ...failed };
  const size = sizeOfBody(asked, answered);
  // What changed the chain is told whatever room it takes.
  const room = takeRoom(caller.accountId, size) ?? (writes(asked) ? { leave: undefined } : undefined);
  if (!room) return { kind: 'failed', ...NO_ROOM };
  return { kind: 'whole', body: bodyOf(asked, answered), bill: billOf(asked.calls, answered), room };
}

/** The credits that were really taken: an earlier attempt may have settled it already, and the first bill stands. */
async function settle(
  hold: LedgerHold,
  { credits, executionMs, credit }: { credits: number; executionMs: number; credit: LedgerPrice },
): Promise<number> {
  // An item can be free, an entry over nothing would say nothing.
  if (credits === 0 && hold.state === 'held') {
    await hold.release();
    return 0;
  }
  const details = { units: String(credits), inferenceExecutionTime: executionMs };
  const { parts } = await hold.settle(priceOfCredits(credits, credit), details);
  return credit.usd === 0n && credit.diem === 0n ? credits : creditsOfParts(parts, credit);
}

async function ask(
  { rpc }: RpcMeans,
  { network, asked, known }: RpcOrder,
  signal: AbortSignal,
): Promise<RpcOutcome[] | RpcStream> {
  const { calls, isBatch } = asked;
  const indices = known.size === 0 ? undefined : openOf(calls, known);
  const open = indices ? calls.only(indices) : calls;
  if (!isBatch && open.length > 0) {
    const answered = await rpc.single(network.slug, open, signal);
    return answered.kind === 'stream' ? answered : [answered];
  }
  const answered = open.length === 0 ? [] : await rpc.batch(network.slug, open, signal);
  if (answered.length !== open.length) {
    throw new FareboxError({
      ...{ code: 'internal', message: 'Internal server error' },
      internal: `${answered.length} outcomes for ${open.length} items`,
    });
  }
  if (!indices) return answered;
  const outcomes: RpcOutcome[] = [];
  for (const [index, value] of known) outcomes[index] = resultOf(value, false);
  for (const [at, index] of indices.entries()) outcomes[index] = answered[at] as RpcOutcome;
  return outcomes;
}

/** Those that are asked. */
function openOf({ length }: RpcCalls, known: RpcOrder['known']): number[] {
  return Array.from({ length }, (_, index) => index).filter((index) => !known.has(index));
}

function lateOutcomes({ calls }: RpcRequest): RpcOutcome[] {
  return new Array(calls.length).fill({ kind: 'failed', reason: 'timeout', sent: true });
}

/** How long the nodes may take, and whether the client may end it. */
function openLine(visit: RpcVisit, { goesOn }: RpcOrder) {
  const controller = new AbortController();
  let late = false;
  const end = () => {
    late = true;
    controller.abort(new Error('the nodes took too long'));
  };
  const leave = () =>
    controller.abort(new FareboxError({ code: 'cancelled', message: 'The client went away.' }));
  let timer: NodeJS.Timeout | undefined = setTimeout(end, UPSTREAM_MS);
  let extended = false;
  const stay = goesOn ? undefined : visit.whenGone(leave);
  const close = () => {
    clearTimeout(timer);
    timer = undefined;
    stay?.();
  };
  return {
    signal: controller.signal,
    isLate: () => late,
    close,
    extend(ms: number) {
      extended = true;
      clearTimeout(timer);
      timer = setTimeout(end, ms);
    },
    /** The asking is over; unless a stream goes on. */
    pause() {
      if (!extended) close();
    },
  };
}

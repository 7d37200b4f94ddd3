/** One node of a network: what it answers, how fast, and whether it is worth asking. */
import { anyCostIsChosen, anyHeavy } from '../../domain/rpc/methodCost.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import { UpstreamFailure, type UpstreamFailureReason } from '../../domain/text/upstreamFailure.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import { TextHttpError } from '../../infra/http/textHttpError.ts';
import { AddressHealth, type AddressState } from '../shared/addressHealth.ts';
import { retryAfterMs } from '../shared/retryAfter.ts';
import { AnswerScanner } from './answerScanner.ts';
import { Latencies } from './latencies.ts';
import { type NodeDoor, piecesOf, plainPieces } from './nodeDoor.ts';
import { BROKEN, questionOf, readOutcomes, takeIds } from './questions.ts';
import { readRefusal } from './refusal.ts';
import type { NodeOutcome } from './rpcTools.ts';
import type { RpcOutcome } from './rpcUpstreams.ts';

/** Of a call that may be taken elsewhere. */
export interface Patience {
  ms: number;
  /** Whether the call can go on elsewhere now; while it cannot, waiting is its best chance. */
  isOver: () => boolean;
}

export interface Asking {
  /** The client's; when it is aborted nothing that is answered counts. */
  signal: AbortSignal;
  timeoutMs: number;
  /** Undefined: all the time there is. */
  patience?: Patience | undefined;
  maxBytes: number;
  /** Must not happen twice. */
  once?: boolean;
  /** The head of an answer has come. */
  onHead?: () => void;
}

export interface Attempt {
  node: RpcNode;
  outcomes: RpcOutcome[];
}

export interface Running {
  done: Promise<Attempt>;
  /** Its answer is of no more interest. */
  stop(): void;
}

export interface NodeSurroundings {
  now: () => number;
  random: () => number;
  observe: (outcome: NodeOutcome, durationMs: number) => void;
}

/** Of the share of answers that were faults: about the last twenty count. */
const ERROR_WEIGHT = 0.05;

export class RpcNode {
  readonly door: NodeDoor;
  readonly latencies = new Latencies();
  /** Of the newest block that it knows; undefined until it was asked. */
  height: number | undefined;
  /** Tells chains apart; undefined until it was asked. */
  chain: string | undefined;
  /** Calls that run now. */
  running = 0;
  private errorShare = 0;
  /** Its last failure was not of a call's doing, and it has answered nothing since. */
  private inDoubt = false;
  private readonly health: AddressHealth;
  private readonly surroundings: NodeSurroundings;

  constructor(door: NodeDoor, surroundings: NodeSurroundings) {
    this.door = door;
    this.surroundings = surroundings;
    this.health = new AddressHealth(surroundings.random);
  }

  state(): AddressState {
    return this.health.state(this.surroundings.now());
  }

  /** A node that fails often is asked less, and never not at all. */
  pull(): number {
    return this.door.weight * Math.max(0.02, (1 - this.errorShare) ** 4);
  }

  /** Never throws; an answer that nobody waited for is `failed`. */
  ask(calls: RpcCalls, asking: Asking): Running {
    const control = new AbortController();
    const stop = () => control.abort(STOPPED);
    const stopClock = startClock(asking, () => control.abort(LATE));
    asking.signal.addEventListener('abort', stop, { once: true });
    if (asking.signal.aborted) stop();
    const done = this.exchange(calls, { ...asking, signal: control.signal }).finally(() => {
      stopClock();
      asking.signal.removeEventListener('abort', stop);
    });
    return { done, stop };
  }

  /** What comes before an answer: of a half-open node one call at a time finds out. */
  begin(): number {
    const startedAt = this.surroundings.now();
    this.health.asked(startedAt);
    this.running += 1;
    return startedAt;
  }

  /** What an answer says of the node. */
  end(startedAt: number, verdict: Verdict): void {
    this.running -= 1;
    const now = this.surroundings.now();
    this.surroundings.observe(verdict.outcome, now - startedAt);
    if (verdict.outcome === 'stopped') {
      this.health.abandoned();
      return;
    }
    if (verdict.fault === undefined) {
      this.errorShare *= 1 - ERROR_WEIGHT;
      this.inDoubt = false;
      this.health.succeeded();
      return;
    }
    const { fault, provoked = false, retryAfterMs: pauseMs } = verdict;
    // All nodes alike are asked less for it: no client can turn others away from one.
    if (!PROVOKED.has(fault)) this.errorShare += (1 - this.errorShare) * ERROR_WEIGHT;
    const reason = provoked && !this.inDoubt ? 'garbage' : fault;
    if (!provoked && !PROVOKED.has(fault) && fault !== 'rate_limited') this.inDoubt = true;
    const failure = {
      reason,
      detail: verdict.outcome,
      ...(pauseMs !== undefined && { retryAfterMs: pauseMs }),
    };
    this.health.failed(new UpstreamFailure(failure), now);
  }

  private async exchange(calls: RpcCalls, asking: Asking): Promise<Attempt> {
    const startedAt = this.begin();
    const firstId = takeIds(calls.length);
    let answered: Answered;
    try {
      answered = await this.post(calls, { ...asking, firstId });
    } catch (error) {
      answered = { outcomes: fill(calls, failureOf(error)), ...(isStopped(error) && { stopped: true }) };
    }
    const verdict = verdictOf(calls, answered);
    this.end(startedAt, verdict);
    if (verdict.outcome === 'answered') this.latencies.add(calls.length, this.surroundings.now() - startedAt);
    return { node: this, outcomes: answered.outcomes };
  }

  private async post(calls: RpcCalls, asking: Asking & { firstId: number }): Promise<Answered> {
    const { signal, maxBytes, firstId, once = false } = asking;
    const { status, headers, body } = await this.door.post(questionOf(calls, firstId), {
      signal,
      maxBytes,
      once,
    });
    asking.onHead?.();
    const asked = { calls, firstId, secrets: this.door.secrets };
    const refused = refusalOf(status);
    if (refused !== undefined) {
      const outcomes = await readRefusal(asked, { headers, body: piecesOf(body) }, refused);
      body.release();
      const pauseMs = retryAfterMs(headers['retry-after'], Date.now());
      return {
        status,
        outcomes,
        ...(pauseMs !== undefined && { retryAfterMs: pauseMs }),
      };
    }
    const pieces = plainPieces(piecesOf(body), headers['content-encoding'], maxBytes);
    const { whole, scanner } = await readWhole(pieces, maxBytes);
    return { status, outcomes: readOutcomes(asked, whole, scanner) };
  }
}

/** Rings when the time is over, or the patience. Returns what stops it. */
function startClock({ timeoutMs, patience }: Asking, ring: () => void): () => void {
  const ms = Math.min(timeoutMs, patience?.ms ?? timeoutMs);
  let leftMs = timeoutMs;
  let timer: NodeJS.Timeout;
  const wait = () => {
    const turnMs = Math.min(ms, leftMs);
    timer = setTimeout(() => {
      leftMs -= turnMs;
      if (leftMs <= 0 || patience?.isOver()) ring();
      else wait();
    }, turnMs);
  };
  wait();
  return () => clearTimeout(timer);
}

/** By a request, which says nothing of the node. */
const PROVOKED: ReadonlySet<UpstreamFailureReason> = new Set(['refused', 'garbage']);
const STOPPED = new Error('of no more interest');
const LATE = new Error('no answer in time');

export interface Answered {
  outcomes: RpcOutcome[];
  /** Undefined: none came. */
  status?: number;
  retryAfterMs?: number;
  stopped?: boolean;
}

export interface Verdict {
  outcome: NodeOutcome;
  /** Undefined: the node does its work. */
  fault?: UpstreamFailureReason;
  /** Perhaps by the call: the node is at fault only when it fails at what no client makes long, too, as its looks. */
  provoked?: boolean;
  retryAfterMs?: number;
}

/** So much is read in one go: a larger answer is read as it comes, while others have their turn. */
const MOST_AT_ONCE = 256 * 1024;

/** `scanner`: has read it all, where it is large. Throws BodyTooLarge, and NotJson. */
async function readWhole(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
): Promise<{ whole: Buffer; scanner: AnswerScanner | undefined }> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  let scanner: AnswerScanner | undefined;
  for await (const piece of body) {
    sizeBytes += piece.length;
    if (sizeBytes > maxBytes) throw new BodyTooLarge(`more than ${maxBytes} bytes`);
    pieces.push(piece);
    if (scanner !== undefined) scanner.write(piece);
    else if (sizeBytes > MOST_AT_ONCE) {
      scanner = new AnswerScanner();
      for (const each of pieces) scanner.write(each);
    }
  }
  scanner?.end();
  return { whole: pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces), scanner };
}

/** Undefined: it is an answer. Redirects are never followed, and no answer. */
export function refusalOf(status: number): RpcOutcome | undefined {
  if (status >= 200 && status <= 299) return undefined;
  // Refused before anything was done with it.
  if (status === 402 || status === 429) return { kind: 'failed', reason: 'capacity', sent: false };
  if (status >= 400 && status <= 499) return { kind: 'rejected', status };
  return { kind: 'failed', reason: status === 503 ? 'capacity' : 'broken', sent: true };
}

export function failureOf(error: unknown): RpcOutcome {
  if (error instanceof BodyTooLarge) return { kind: 'failed', reason: 'too_large', sent: true };
  if (!(error instanceof TextHttpError)) return BROKEN;
  const sent = error.sent !== 'not_sent';
  if (error.cause instanceof BodyTooLarge) return { kind: 'failed', reason: 'too_large', sent };
  const late = error.failure === 'timeout' || error.failure === 'stopped';
  return { kind: 'failed', reason: late ? 'timeout' : 'broken', sent };
}

export function isStopped(error: unknown): boolean {
  return error instanceof TextHttpError && error.failure === 'stopped' && error.cause !== LATE;
}

function fill(calls: RpcCalls, outcome: RpcOutcome): RpcOutcome[] {
  return new Array(calls.length).fill(outcome);
}

/**
 * What a call of a client's choosing can provoke by being too much for the node is no reason to close the node to everybody:
 * only of light calls a failure counts, and being late only of those whose cost no client chooses.
 */
export function verdictOf(calls: RpcCalls, answered: Answered): Verdict {
  const { outcomes, status, stopped, retryAfterMs: pauseMs } = answered;
  if (stopped) return { outcome: 'stopped' };
  const worst =
    outcomes.find(({ kind }) => kind === 'failed') ?? outcomes.find(({ kind }) => kind !== 'result');
  if (worst === undefined) return { outcome: 'answered' };
  const light = !anyHeavy(calls);
  switch (worst.kind) {
    case 'failed':
      return verdictOfFailure(worst, { calls, status, pauseMs });
    case 'rejected':
      return {
        outcome: 'rejected',
        fault: worst.status === 401 || worst.status === 403 ? 'credential' : 'refused',
      };
    default:
      if (!outcomes.some(({ kind }) => kind === 'mismatched')) return { outcome: 'answered' };
      return { outcome: 'mismatched', fault: light ? 'failed' : 'garbage' };
  }
}

function verdictOfFailure(
  { reason, sent }: Extract<RpcOutcome, { kind: 'failed' }>,
  { calls, status, pauseMs }: { calls: RpcCalls; status: number | undefined; pauseMs: number | undefined },
): Verdict {
  if (reason === 'capacity') {
    const fault = status === 503 ? 'overloaded' : 'rate_limited';
    return { outcome: reason, fault, ...(pauseMs !== undefined && { retryAfterMs: pauseMs }) };
  }
  if (!sent) return { outcome: reason, fault: 'unreachable' };
  const faults = { broken: 'failed', timeout: 'timeout', too_large: 'garbage' } as const;
  // A gateway in front of a node says by 504 that it was late.
  if ((reason === 'timeout' || status === 504) && anyCostIsChosen(calls)) {
    return { outcome: reason, fault: faults[reason], provoked: true };
  }
  return { outcome: reason, fault: anyHeavy(calls) ? 'garbage' : faults[reason] };
}

/** Judges what a reply, or its absence, says about the node. */
import { anyCostIsChosen, hasHeavyCall } from '../../domain/rpc/methodCost.ts';
import type { RpcCalls } from '../../domain/rpc/rpcCalls.ts';
import type { UpstreamFailureReason } from '../../domain/upstreamFailure.ts';
import { BodyTooLarge } from '../../infra/http/saveBody.ts';
import { ServiceHttpError } from '../../infra/http/serviceHttpError.ts';
import { BROKEN } from './questions.ts';
import type { NodeOutcome, RpcOutcome } from './rpcUpstreams.ts';

/** Reply of one node to a call. */
export interface NodeReply {
  outcomes: RpcOutcome[];
  /** Undefined: no reply. */
  status?: number;
  retryAfterMs?: number | undefined;
  /** The call was stopped before its end. */
  stopped?: boolean;
}

export interface Verdict {
  outcome: NodeOutcome;
  /** Undefined: the node works. */
  fault?: UpstreamFailureReason;
  /** The call may be the cause: the node is at fault only if short calls, such as height polls, fail too. */
  provoked?: boolean;
  retryAfterMs?: number | undefined;
}

export function failureOf(error: unknown): RpcOutcome {
  if (error instanceof BodyTooLarge) return { kind: 'failed', reason: 'too_large', sent: true };
  if (!(error instanceof ServiceHttpError)) return BROKEN;
  const sent = error.sent !== 'not_sent';
  if (error.isTooLarge) return { kind: 'failed', reason: 'too_large', sent };
  const late = error.failure === 'timeout' || error.failure === 'stopped';
  return { kind: 'failed', reason: late ? 'timeout' : 'broken', sent };
}

/**
 * A failure that a client can provoke by too large a call must not close the node to others. Failures count only for
 * light calls, and timeouts only for calls whose cost no client chooses.
 */
export function verdictOf(calls: RpcCalls, answered: NodeReply): Verdict {
  const { outcomes, stopped } = answered;
  if (stopped) return { outcome: 'stopped' };
  const worst = outcomes.find(({ kind }) => kind === 'failed') ?? outcomes.find(({ kind }) => kind !== 'result');
  if (worst === undefined) return { outcome: 'answered' };
  const light = !hasHeavyCall(calls);
  switch (worst.kind) {
    case 'failed':
      return verdictOfFailure(worst, calls, answered);
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
  calls: RpcCalls,
  { status, retryAfterMs }: NodeReply,
): Verdict {
  if (reason === 'capacity') {
    const fault = status === 503 ? 'overloaded' : 'rate_limited';
    return { outcome: reason, fault, retryAfterMs };
  }
  if (!sent) return { outcome: reason, fault: 'unreachable' };
  const faults = { broken: 'failed', timeout: 'timeout', too_large: 'garbage' } as const;
  // A gateway before the node reports its timeout by 504.
  if ((reason === 'timeout' || status === 504) && anyCostIsChosen(calls)) {
    return { outcome: reason, fault: faults[reason], provoked: true };
  }
  return { outcome: reason, fault: hasHeavyCall(calls) ? 'garbage' : faults[reason] };
}

/** What an outcome of one attempt means for the next. */
import { jsonBytes } from '../../domain/rpc/jsonBytes.ts';
import type { RpcOutcome, RpcResult } from './rpcUpstreams.ts';

/** Another node may know better than one that lies, limits, refuses or fails; what is too large is so everywhere. */
export function mayBeAskedElsewhere(outcome: RpcOutcome): boolean {
  switch (outcome.kind) {
    case 'failed':
      return outcome.reason !== 'too_large';
    case 'mismatched':
    case 'rejected':
      return true;
    default:
      return false;
  }
}

export function isLate(outcome: RpcOutcome | undefined): boolean {
  return outcome?.kind === 'failed' && outcome.reason === 'timeout';
}

/** Of two attempts: a node's answer, of whatever kind, says more than none. */
export function better(before: RpcOutcome | undefined, after: RpcOutcome | undefined): RpcOutcome {
  if (after === undefined) return before ?? { kind: 'failed', reason: 'broken', sent: false };
  return after.kind === 'failed' && before !== undefined && before.kind !== 'failed' ? before : after;
}

/** `text`: JSON. */
export function resultOf(text: string, cached: boolean): RpcResult {
  const json = jsonBytes(text);
  return { kind: 'result', json, start: 0, end: json.bytes.length, cached };
}

/** JSON. */
export function textOf({ json, start, end }: RpcResult): string {
  return json.text(start, end);
}

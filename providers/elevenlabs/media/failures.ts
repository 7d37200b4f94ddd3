/** What an error reply of ElevenLabs means for a call that a client waits for: the words of queued orders, in those of calls. */
import { UpstreamFailure, type UpstreamFailureReason } from '../../../domain/text/upstreamFailure.ts';
import { reasonOfStatus } from '../../shared/failedReply.ts';
import type { Outcome, RefusalReason } from '../../shared/provider.ts';
import type { ErrorReply } from '../../shared/textReply.ts';
import { outcomeOfError } from '../errorReply.ts';

const OF_REFUSALS: Record<RefusalReason, UpstreamFailureReason> = {
  invalid_request: 'refused',
  content_policy: 'content_policy',
  failed: 'failed',
  credential: 'credential',
};

/** `custom`: the client chose a voice id of its own. */
export function failureOfReply(reply: ErrorReply, custom: boolean): UpstreamFailure {
  const { status } = reply;
  const outcome = outcomeOfError({ ...reply, headers: { ...reply.headers } }, custom);
  const detail = ('detail' in outcome ? outcome.detail : undefined) ?? `HTTP ${status}`;
  return new UpstreamFailure({ status, detail, ...meaningOf(outcome, status) });
}

type Meaning = Pick<ConstructorParameters<typeof UpstreamFailure>[0], 'reason' | 'message' | 'retryAfterMs'>;

function meaningOf(outcome: Outcome, status: number): Meaning {
  if (outcome.status === 'busy') {
    const reason = outcome.reason === 'overloaded' ? 'overloaded' : 'rate_limited';
    return { reason, ...(outcome.retryAfterMs !== undefined && { retryAfterMs: outcome.retryAfterMs }) };
  }
  // A redirect, or a page of something that stands before the service.
  if (outcome.status !== 'refused') return { reason: reasonOfStatus(status, false) };
  const reason = status < 400 ? 'garbage' : OF_REFUSALS[outcome.reason];
  const told = reason === 'refused' || reason === 'content_policy';
  return { reason, ...(told && { message: outcome.message }) };
}

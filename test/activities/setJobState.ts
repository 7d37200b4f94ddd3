import type { JobState } from '../../domain/jobs.ts';
import type { FlowWorld } from '../infra/postgres/flowWorld.ts';

const RUNNING: readonly JobState[] = ['accepted', 'submitted'];
const WITH_OUTPUT: readonly JobState[] = ['stored', 'deleted', 'expired'];
const REFUNDED: readonly JobState[] = ['failed', 'timed_out', 'cancelled'];

/** Sets the state of a job with the columns that this state requires. */
export async function setJobState({ ledger }: FlowWorld, queueId: string, state: JobState): Promise<void> {
  const outputKey = WITH_OUTPUT.includes(state) ? 'key' : null;
  const refundId = REFUNDED.includes(state) ? 'refund' : null;
  const hasEnded = !RUNNING.includes(state) && state !== 'stored';
  await ledger.owner.query(
    `update jobs set state = $2, output_key = $3, refund_id = $4, ended_at = case when $5 then now() end
      where queue_id = $1`,
    [queueId, state, outputKey, refundId, hasEnded],
  );
}

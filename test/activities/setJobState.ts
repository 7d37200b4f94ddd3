import type { JobState } from '../../domain/jobs.ts';
import type { FlowWorld } from '../infra/postgres/flowWorld.ts';

/** Puts a job into a state, with what its row must have in it. */
export async function setJobState({ ledger }: FlowWorld, queueId: string, state: JobState): Promise<void> {
  const isRunning = state === 'accepted' || state === 'submitted';
  await ledger.owner.query(
    `update jobs set state = $2, output_key = $3, refund_id = $4, ended_at = case when $5 then now() end
      where queue_id = $1`,
    [
      ...[queueId, state, ['stored', 'deleted', 'expired'].includes(state) ? 'key' : null],
      ...[
        ['failed', 'timed_out', 'cancelled'].includes(state) ? 'refund' : null,
        !isRunning && state !== 'stored',
      ],
    ],
  );
}

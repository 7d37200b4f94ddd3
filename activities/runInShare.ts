/** Bounds steps that fetch and decode by their account's share of this process (limits: `fetchedBytes`, `slots`). */
import { Context } from '@temporalio/activity';
import { FareboxError } from '../domain/errors.ts';
import type { RequestShare } from '../infra/accountShares.ts';
import { retryLater } from './asActivity.ts';
import type { ActivityDependencies } from './dependencies.ts';

const OWN_JOBS = {
  type: 'OwnJobsFirst',
  message: 'Other jobs of this account are worked at; it is tried again.',
};

/** Waits for a turn, and fails when the account has too much waiting: Temporal retries it (bench `jobs`). */
export async function runInShare<T>(
  { shares, mediaTurns }: Pick<ActivityDependencies, 'shares' | 'mediaTurns'>,
  accountId: string,
  step: (share: Pick<RequestShare, 'reserve'>) => Promise<T>,
): Promise<T> {
  const signal = Context.current().cancellationSignal;
  const share = shares.open(accountId);
  try {
    return await share.inSlot('steps', () => mediaTurns.run(() => step(share), signal), signal);
  } catch (error) {
    throw error instanceof FareboxError && error.code === 'rate_limited' ? retryLater(OWN_JOBS) : error;
  } finally {
    share.release();
  }
}

/** Rows of jobs of several accounts at one provider, from which the admission to its job slots is decided. */
import { randomUUID } from 'node:crypto';
import type { ProviderLimits } from '../../../domain/providerSettings.ts';
import { openSubmission, type SubmissionGate } from '../../../infra/postgres/submissions.ts';
import { createLedgerWorld, type LedgerWorld } from './ledgerWorld.ts';

export interface FlowWorld {
  ledger: LedgerWorld;
  account(): Promise<string>;
  /** Accepted jobs of an account, oldest first. */
  jobs(accountId: string, count: number, provider?: string): Promise<string[]>;
  /** First of these jobs that is admitted, tried in their order; undefined if none is. */
  admitOne(jobs: readonly string[], limits: ProviderLimits): Promise<string | undefined>;
  open(job: string, limits?: ProviderLimits): Promise<SubmissionGate>;
  /** Stores the jobs' outputs, so that their slots are free. */
  finish(...jobs: string[]): Promise<void>;
  /** Number of an account's jobs that have a slot. */
  running(accountId: string): Promise<number>;
  close(): Promise<void>;
}

export const PROVIDER = 'slow';

export async function openFlowWorld(poolSize?: number, inDatabase?: string): Promise<FlowWorld> {
  const ledger = await createLedgerWorld(poolSize, inDatabase);
  const { pool, owner } = ledger;
  const open = (job: string, limits?: ProviderLimits) => openSubmission(pool, job, limits);
  return {
    ledger,
    account: () => ledger.account(),
    async jobs(accountId, count, provider = PROVIDER) {
      const ids = Array.from({ length: count }, () => randomUUID());
      await owner.query(
        `insert into jobs (queue_id, account_id, kind, model_id, provider, state, request_id, price_usd_nano,
             charge_operation_id, charge_id, deadline_at, created_at)
           select id, $2, 'audio', 'model', $3, 'accepted', 'request', 1, id, 'charge',
             now() + interval '1 hour', clock_timestamp() + place * interval '1 microsecond'
           from unnest($1::uuid[]) with ordinality as wanted (id, place)`,
        [ids, accountId, provider],
      );
      return ids;
    },
    open,
    async admitOne(jobs, limits) {
      for (const job of jobs) if ((await open(job, limits)).go === 'submit') return job;
      return undefined;
    },
    async finish(...jobs) {
      await owner.query(`update jobs set state = 'stored', output_key = 'key' where queue_id = any ($1)`, [jobs]);
    },
    async running(accountId) {
      const { rows } = await owner.query<{ count: number }>(
        `select count(*)::integer as count from jobs
          where account_id = $1 and state = 'submitted' and submission <> 'not_accepted'`,
        [accountId],
      );
      return rows[0]?.count ?? 0;
    },
    close: () => ledger.close(),
  };
}

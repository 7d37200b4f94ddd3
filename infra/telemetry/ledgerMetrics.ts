/** Gauges from the database: open holds, running jobs and pending payments. */

import { Gauge, type Registry } from 'prom-client';
import { feeBudgetUnits, type PaymentNetworkSettings } from '../../domain/payments/networkSettings.ts';
import { inTransaction, type Sql } from '../postgres/pool.ts';
import { createGaugeProbe } from './createGaugeProbe.ts';

const READ_EVERY_MS = 5_000;
const READ_LIMIT_MS = 1_000;
/** A count of 100,000 means "at least": counting a million rows every few seconds would be a load of its own. */
const MAX_COUNTED = 100_000;

/** Longer than the upkeep needs to end a job that its workflow did not end. */
const OVERDUE_MINUTES = 5;

interface HoldFigures {
  holds_open: string;
  oldest_hold_seconds: number | null;
}

interface JobFigures {
  model_id: string;
  state: string;
  jobs: string;
  oldest_seconds: number;
  overdue: string;
}

/** The oldest of the holds that expire first: holds of one kind of request have the same lifetime. */
const HOLDS = `select (select count(*) from (select 1 from holds limit ${MAX_COUNTED}) as counted) as holds_open,
    (select extract(epoch from ledger_now() - min(o.created_at))::float8
       from (select operation_id from holds order by expires_at limit 1000) as h
       join operations o on o.operation_id = h.operation_id and o.kind = 'charge') as oldest_hold_seconds`;

/** Running jobs, by partial index. Ended jobs are counted where they end. */
const JOBS = `select model_id, state, count(*) as jobs,
    extract(epoch from clock_timestamp() - min(created_at))::float8 as oldest_seconds,
    count(*) filter (where deadline_at < clock_timestamp() - interval '${OVERDUE_MINUTES} minutes') as overdue
  from (select model_id, state, created_at, deadline_at from jobs
         where state in ('accepted', 'submitted') order by deadline_at limit ${MAX_COUNTED}) as running
  group by model_id, state`;

interface TopUpFigures {
  network: string;
  state: string;
  top_ups: string;
  oldest_seconds: number;
}

const TOP_UPS = `select network, state, count(*) as top_ups,
    extract(epoch from clock_timestamp() - min(created_at))::float8 as oldest_seconds
  from (select network, state, created_at from top_ups
         where state not in ('credited', 'failed', 'wrong') order by changed_at limit ${MAX_COUNTED}) as pending
  group by network, state`;

const FEES = `select network, sum(fee_reserved)::text as fees from top_ups
  where fee_day = (clock_timestamp() at time zone 'UTC')::date and state <> 'credited' group by network`;

interface FeeFigures {
  network: string;
  /** In the smallest unit of the network's coin. */
  fees: string;
}

/** `payments`: networks whose fee budgets are shown. */
export function registerLedgerMetrics(
  registry: Registry,
  sql: Sql,
  payments: readonly PaymentNetworkSettings[] = [],
): void {
  const gauges = createGauges(registry, () => refresh());
  const refresh = createGaugeProbe({
    everyMs: READ_EVERY_MS,
    deadlineMs: READ_LIMIT_MS,
    ask: () => read(sql),
    show: (figures) => {
      hide(gauges);
      show(gauges, figures);
      showFees(gauges, figures, payments);
    },
    hide: () => hide(gauges),
  });
}

type LedgerGauges = ReturnType<typeof createGauges>;

function createGauges(registry: Registry, collect: () => Promise<void>) {
  const registers = [registry];
  const labelNames = ['model', 'state'] as const;
  const gauges = {
    ...topUpGauges(registry, collect),
    readable: new Gauge({
      name: 'farebox_database_figures_readable',
      help: '1 when the figures of holds and jobs could be read, 0 when they are missing',
      registers,
      collect,
    }),
    holds: new Gauge({
      name: 'farebox_holds_open',
      help: 'Holds without a resolution',
      registers,
      collect,
    }),
    oldestHold: new Gauge({
      name: 'farebox_holds_oldest_seconds',
      help: 'Age of the oldest open hold, 0 when there is none',
      registers,
      collect,
    }),
    jobs: new Gauge({
      name: 'farebox_jobs_running',
      help: 'Jobs whose output is not stored yet, by model and state',
      labelNames,
      registers,
      collect,
    }),
    overdueJobs: new Gauge({
      name: 'farebox_jobs_overdue',
      help: `Running jobs ${OVERDUE_MINUTES} minutes past their deadline: charged, without an output, and not refunded`,
      labelNames,
      registers,
      collect,
    }),
    oldestJob: new Gauge({
      name: 'farebox_jobs_oldest_seconds',
      help: 'Age of the oldest running job, by model and state',
      labelNames,
      registers,
      collect,
    }),
  };
  hide(gauges);
  return gauges;
}

function topUpGauges(registry: Registry, collect: () => Promise<void>) {
  const registers = [registry];
  const labelNames = ['provider', 'state'] as const;
  return {
    topUps: new Gauge({
      name: 'farebox_top_ups_pending',
      help: 'Payments of wallets that are neither credited nor over, by network and state',
      labelNames,
      registers,
      collect,
    }),
    oldestTopUp: new Gauge({
      name: 'farebox_top_ups_oldest_seconds',
      help: 'Age of the oldest payment that is not over, by network and state',
      labelNames,
      registers,
      collect,
    }),
    feeBudget: new Gauge({
      name: 'farebox_settlement_fee_budget_ratio',
      help: "Share of the UTC day's budget that fees of payments without a credit have taken, by network",
      labelNames: ['provider'] as const,
      registers,
      collect,
    }),
  };
}

interface LedgerFigures {
  holds: HoldFigures | undefined;
  jobs: JobFigures[];
  topUps: TopUpFigures[];
  fees: FeeFigures[];
}

async function read(sql: Sql): Promise<LedgerFigures> {
  return await inTransaction(sql, async (client) => {
    // The server gives up as well: a scrape every few seconds must not pile up statements.
    await client.query(`set local statement_timeout = ${READ_LIMIT_MS}`);
    const holds = await client.query<HoldFigures>(HOLDS);
    const jobs = await client.query<JobFigures>(JOBS);
    const topUps = await client.query<TopUpFigures>(TOP_UPS);
    const fees = await client.query<FeeFigures>(FEES);
    return { holds: holds.rows[0], jobs: jobs.rows, topUps: topUps.rows, fees: fees.rows };
  });
}

function show(gauges: LedgerGauges, { holds, jobs, topUps }: LedgerFigures): void {
  gauges.readable.set(1);
  gauges.holds.set(Number(holds?.holds_open ?? 0));
  gauges.oldestHold.set(holds?.oldest_hold_seconds ?? 0);
  for (const row of jobs) {
    const labels = { model: row.model_id, state: row.state };
    gauges.jobs.set(labels, Number(row.jobs));
    gauges.oldestJob.set(labels, row.oldest_seconds);
    gauges.overdueJobs.set(labels, Number(row.overdue));
  }
  for (const { network, state, top_ups, oldest_seconds } of topUps) {
    gauges.topUps.set({ provider: network, state }, Number(top_ups));
    gauges.oldestTopUp.set({ provider: network, state }, oldest_seconds);
  }
}

function showFees(gauges: LedgerGauges, { fees }: LedgerFigures, payments: readonly PaymentNetworkSettings[]): void {
  for (const settings of payments.filter(({ feePayerKeyEnv }) => feePayerKeyEnv !== undefined)) {
    const spent = fees.find(({ network }) => network === settings.network)?.fees ?? '0';
    gauges.feeBudget.set({ provider: settings.network }, Number(spent) / Number(feeBudgetUnits(settings)));
  }
}

/** A gauge without labels is hidden by removing its one value. */
function hide(gauges: LedgerGauges): void {
  const { readable, holds, oldestHold, jobs, oldestJob, overdueJobs, topUps, oldestTopUp, feeBudget } = gauges;
  readable.set(0);
  holds.remove();
  oldestHold.remove();
  jobs.reset();
  oldestJob.reset();
  overdueJobs.reset();
  topUps.reset();
  oldestTopUp.reset();
  feeBudget.reset();
}

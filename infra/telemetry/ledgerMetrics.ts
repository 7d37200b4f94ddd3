/** Figures that live in the database: read when Prometheus asks, at most every few seconds, and never waited for long. */
import { Gauge, type Registry } from 'prom-client';
import type { SqlClient } from '../postgres/pool.ts';

const READ_EVERY_MS = 5_000;

interface Figures {
  holds_open: string;
  oldest_hold_seconds: number | null;
}

interface JobFigures {
  model_id: string;
  state: string;
  jobs: string;
  oldest_seconds: number;
}

const HOLDS = `select count(*) as holds_open,
    extract(epoch from ledger_now() - min(o.created_at))::float8 as oldest_hold_seconds
  from holds h join operations o on o.operation_id = h.operation_id and o.kind = 'charge'`;

/** Running jobs by partial index; those that ended are counted where they end, not here. */
const JOBS = `select model_id, state, count(*) as jobs,
    extract(epoch from clock_timestamp() - min(created_at))::float8 as oldest_seconds
  from jobs where state in ('accepted', 'submitted') group by model_id, state`;

export function registerLedgerMetrics(registry: Registry, sql: SqlClient): void {
  const registers = [registry];
  const holds = new Gauge({ name: 'farebox_holds_open', help: 'Holds without a resolution', registers });
  const oldestHold = new Gauge({
    name: 'farebox_holds_oldest_seconds',
    help: 'Age of the oldest open hold',
    registers,
  });
  const jobs = new Gauge({
    name: 'farebox_jobs_running',
    help: 'Jobs whose output is not stored yet, by model and state',
    labelNames: ['model', 'state'],
    registers,
  });
  const oldestJob = new Gauge({
    name: 'farebox_jobs_oldest_seconds',
    help: 'Age of the oldest running job, by model and state',
    labelNames: ['model', 'state'],
    registers,
  });

  async function read(): Promise<void> {
    const [held, running] = await Promise.all([sql.query<Figures>(HOLDS), sql.query<JobFigures>(JOBS)]);
    holds.set(Number(held.rows[0]?.holds_open ?? 0));
    oldestHold.set(held.rows[0]?.oldest_hold_seconds ?? 0);
    jobs.reset();
    oldestJob.reset();
    for (const row of running.rows) {
      const labels = { model: row.model_id, state: row.state };
      jobs.set(labels, Number(row.jobs));
      oldestJob.set(labels, row.oldest_seconds);
    }
  }

  const readable = new Gauge({
    name: 'farebox_database_figures_readable',
    help: '1 when the figures of holds and jobs are of the last few seconds, 0 when they are older',
    registers,
    collect: refresh,
  });
  let readAt = Number.NEGATIVE_INFINITY;
  async function refresh(): Promise<void> {
    if (performance.now() - readAt < READ_EVERY_MS) return;
    readAt = performance.now();
    await read().then(
      () => readable.set(1),
      () => readable.set(0),
    );
  }
}

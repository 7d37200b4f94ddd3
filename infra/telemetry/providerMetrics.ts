/** State of the providers of queued jobs across all workers: places taken, waiting jobs, circuits. */
import { Gauge, type Registry } from 'prom-client';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { inTransaction, type Sql } from '../postgres/pool.ts';
import { createGaugeProbe } from './createGaugeProbe.ts';

const READ_EVERY_MS = 5_000;
const READ_LIMIT_MS = 1_000;
/** A count of 100,000 means "at least". */
const MAX_COUNTED = 100_000;

interface PlaceFigures {
  provider: string;
  running: string;
  waiting: string;
}

interface Circuit {
  provider: string;
  /** 0 closed, 1 half open, 2 open. */
  circuit: number;
}

const JOBS = `select provider, count(*) filter (where placed) as running, count(*) filter (where not placed) as waiting
  from (select provider, state = 'submitted' and submission <> 'not_accepted' as placed
          from jobs where state in ('accepted', 'submitted') order by deadline_at limit ${MAX_COUNTED}) as under_way
  group by provider`;

const CIRCUITS = `select provider, case when open_until is null then 0 when open_until <= clock_timestamp() then 1
  else 2 end as circuit from provider_health`;

export function registerProviderMetrics(
  registry: Registry,
  sql: Sql,
  providers: Readonly<Record<string, ProviderSettings>>,
): void {
  const gauges = createGauges(registry, () => refresh());
  for (const [provider, settings] of Object.entries(providers)) {
    const concurrent = settings.limits?.concurrent;
    if (concurrent !== undefined) gauges.places.set({ provider }, concurrent);
  }
  const refresh = createGaugeProbe({
    everyMs: READ_EVERY_MS,
    deadlineMs: READ_LIMIT_MS,
    ask: () => read(sql),
    show: (figures) => {
      hide(gauges);
      show(gauges, figures);
    },
    hide: () => hide(gauges),
  });
}

type ProviderGauges = ReturnType<typeof createGauges>;

function createGauges(registry: Registry, collect: () => Promise<void>) {
  const settings = { registers: [registry], collect };
  return {
    jobs: new Gauge({
      name: 'farebox_provider_jobs',
      help: 'Jobs that have a place at a provider (running) or stand in line for one (waiting)',
      labelNames: ['provider', 'state'] as const,
      ...settings,
    }),
    circuit: new Gauge({
      name: 'farebox_provider_circuit',
      help: '0: the provider answers; 1: after failures one job tries it; 2: it gets nothing for now',
      labelNames: ['provider'] as const,
      ...settings,
    }),
    places: new Gauge({
      name: 'farebox_provider_places',
      help: 'Jobs that a provider may have at once, where that is limited',
      labelNames: ['provider'] as const,
      registers: [registry],
    }),
  };
}

async function read(sql: Sql): Promise<{ jobs: PlaceFigures[]; circuits: Circuit[] }> {
  return await inTransaction(sql, async (client) => {
    // The server gives up as well: a scrape every few seconds must not pile up statements.
    await client.query(`set local statement_timeout = ${READ_LIMIT_MS}`);
    const jobs = await client.query<PlaceFigures>(JOBS);
    const circuits = await client.query<Circuit>(CIRCUITS);
    return { jobs: jobs.rows, circuits: circuits.rows };
  });
}

function show({ jobs, circuit }: ProviderGauges, figures: { jobs: PlaceFigures[]; circuits: Circuit[] }): void {
  for (const { provider, running, waiting } of figures.jobs) {
    jobs.set({ provider, state: 'running' }, Number(running));
    jobs.set({ provider, state: 'waiting' }, Number(waiting));
  }
  for (const row of figures.circuits) circuit.set({ provider: row.provider }, row.circuit);
}

function hide({ jobs, circuit }: ProviderGauges): void {
  jobs.reset();
  circuit.reset();
}

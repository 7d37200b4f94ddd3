/**
 * Metrics that are counted deep below the wiring: one set per process. Labels come from closed lists or from the
 * configuration (models, providers), never from an account, a key or a request.
 */
import { Counter, Gauge, Histogram } from 'prom-client';

/** Each process chooses its registry: see metrics.ts. */
const registers: [] = [];

const QUICK_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SLOW_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];

export const limiterDecisions = new Counter({
  name: 'farebox_limiter_decisions_total',
  help: 'Calls that the limiter admitted (limit "none") or refused, by the limit, and by where it was counted',
  labelNames: ['outcome', 'limit', 'counted'] as const,
  registers,
});

export const limiterAlone = new Gauge({
  name: 'farebox_limiter_fallback',
  help: '1 while Redis does not answer and this process counts limits for itself',
  registers,
});

export const ledgerSeconds = new Histogram({
  name: 'farebox_ledger_duration_seconds',
  help: 'One ledger statement with its repetitions, or one batch of holds or resolutions, by outcome',
  labelNames: ['operation', 'outcome'] as const,
  buckets: QUICK_SECONDS,
  registers,
});

export const ledgerBatchSize = new Histogram({
  name: 'farebox_ledger_batch_size',
  help: 'Ledger calls that went to the database as one statement',
  labelNames: ['operation'] as const,
  buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  registers,
});

export const ledgerOverruns = new Counter({
  name: 'farebox_ledger_overruns_total',
  help:
    'Bills that their hold did not cover: above it (above_hold), also of streams that their clients left, whose rest is not ' +
    'taken (left_above_hold); after its end (expired, released), without it (no_hold); or that could not be written (unwritten)',
  labelNames: ['cause'] as const,
  registers,
});
// An alert detects an increase only of a series that exists already.
for (const cause of ['above_hold', 'left_above_hold', 'expired', 'released', 'no_hold', 'unwritten']) {
  ledgerOverruns.inc({ cause }, 0);
}

export const refundBudgetFailures = new Counter({
  name: 'farebox_refund_budget_failures_total',
  help: 'Work for clients that left which was refunded without being counted, because the budget of the day could not be read',
  registers,
});

export const ledgerOverrunUsd = new Counter({
  name: 'farebox_ledger_overrun_usd_total',
  help:
    'Parts of such bills beyond their holds, in USD: taken by a second operation, missing because funds or limits ended, ' +
    'or not taken since the client had left its stream (left)',
  labelNames: ['outcome'] as const,
  registers,
});
for (const outcome of ['taken', 'missing', 'left']) ledgerOverrunUsd.inc({ outcome }, 0);

export const abandonedHolds = new Counter({
  name: 'farebox_ledger_abandoned_holds_total',
  help:
    'Holds that a request gave up without knowing their outcome, by what became of them: released, never written (no_hold), ' +
    'or left to their expiry (unknown)',
  labelNames: ['outcome'] as const,
  registers,
});

export const holdsExpired = new Counter({
  name: 'farebox_holds_expired_total',
  help: 'Forgotten holds that the sweep expired, or could not expire (failed: a log line names each)',
  labelNames: ['outcome'] as const,
  registers,
});
for (const outcome of ['expired', 'failed']) holdsExpired.inc({ outcome }, 0);

export const signInsSeen = new Counter({
  name: 'farebox_sign_ins_total',
  help: 'Sign-ins of wallets by family (unknown: unreadable): "ok", the rule that refused them, or why none could be told',
  labelNames: ['family', 'outcome'] as const,
  registers,
});

export const traceExports = new Counter({
  name: 'farebox_trace_spans_total',
  help: 'Spans that ended; that the collector took (sent), or refused or left unanswered (lost); the rest had no room',
  labelNames: ['outcome'] as const,
  registers,
});

export const jobsReached = new Counter({
  name: 'farebox_jobs_total',
  help: 'Jobs that reached a state, by model',
  labelNames: ['model', 'state'] as const,
  registers,
});

export const webhookAttempts = new Counter({
  name: 'farebox_webhook_attempts_total',
  help: 'Attempts to tell a client about its job, by what came of them',
  labelNames: ['outcome'] as const,
  registers,
});

export const refunds = new Counter({
  name: 'farebox_refunds_total',
  help: 'Charges that were given back, by model and reason',
  labelNames: ['model', 'reason'] as const,
  registers,
});

export const refundFailures = new Counter({
  name: 'farebox_refund_failures_total',
  help: 'Attempts to end and refund a job that failed, by the reason of the refund; each is tried again',
  labelNames: ['reason'] as const,
  registers,
});

export const topUpsReached = new Counter({
  name: 'farebox_top_ups_total',
  help: 'Top-ups that reached a state after their payment was handed in, by network',
  labelNames: ['provider', 'state'] as const,
  registers,
});

export const providerOutcomes = new Counter({
  name: 'farebox_provider_outcomes_total',
  help: 'What providers answered; "error" is an answer that could not be understood or a fault of our own',
  labelNames: ['provider', 'call', 'outcome'] as const,
  registers,
});

interface ProviderCalls {
  running: number;
  queued: number;
}

const providerCalls = new Map<string, ProviderCalls>();

/** The caller counts these up and down: a gauge would look up its labels at each step of each call. */
export function providerCallsOf(provider: string): ProviderCalls {
  const known = providerCalls.get(provider) ?? { running: 0, queued: 0 };
  providerCalls.set(provider, known);
  return known;
}

export const providerRequests = new Gauge({
  name: 'farebox_provider_requests',
  help: 'Synchronous calls to a provider that run now, or are queued for a connection',
  labelNames: ['provider', 'state'] as const,
  registers,
  collect() {
    for (const [provider, { running, queued }] of providerCalls) {
      this.set({ provider, state: 'running' }, running);
      this.set({ provider, state: 'queued' }, queued);
    }
  },
});

export const providerSeconds = new Histogram({
  name: 'farebox_provider_duration_seconds',
  help: 'One call to a provider, from the request to the end of its answer',
  labelNames: ['provider', 'call'] as const,
  buckets: SLOW_SECONDS,
  registers,
});

export const rpcNodeOutcomes = new Counter({
  name: 'farebox_rpc_node_requests_total',
  help: 'HTTP requests to chain nodes, by what came of them; "stopped": another node was quicker, or the client left',
  labelNames: ['network', 'node', 'outcome'] as const,
  registers,
});

export const rpcNodeSeconds = new Histogram({
  name: 'farebox_rpc_node_duration_seconds',
  help: 'One HTTP request to a chain node, from the request to the end of its answer',
  labelNames: ['network', 'node'] as const,
  buckets: QUICK_SECONDS,
  registers,
});

export const rpcNodeCircuit = new Gauge({
  name: 'farebox_rpc_node_circuit',
  help: '0: the node answers; 1: after failures one call tries it; 2: it gets nothing for now; 3: it limits us',
  labelNames: ['network', 'node'] as const,
  registers,
});

export const rpcNodeBehind = new Gauge({
  name: 'farebox_rpc_node_blocks_behind',
  help: 'Blocks by which a node is behind the best of its network',
  labelNames: ['network', 'node'] as const,
  registers,
});

export const rpcSecondNodes = new Counter({
  name: 'farebox_rpc_second_nodes_total',
  help: 'Calls for which another node was asked: because the first failed (failover), or was slow (hedge)',
  labelNames: ['network', 'reason'] as const,
  registers,
});

export const rpcKept = new Counter({
  name: 'farebox_rpc_kept_answers_total',
  help: 'Calls whose answer can never change: found in memory (hit), not found (miss), and answers kept (stored)',
  labelNames: ['network', 'outcome'] as const,
  registers,
});

export const activitySeconds = new Histogram({
  name: 'farebox_activity_duration_seconds',
  help: 'One attempt of a step of a job, by outcome',
  labelNames: ['activity', 'outcome'] as const,
  buckets: SLOW_SECONDS,
  registers,
});

export const activityWaitSeconds = new Histogram({
  name: 'farebox_activity_wait_seconds',
  help: 'How long a step of a job waited in its queue for a worker',
  labelNames: ['queue'] as const,
  buckets: SLOW_SECONDS,
  registers,
});

export const API_COUNTERS = [
  limiterDecisions,
  limiterAlone,
  signInsSeen,
  ledgerOverruns,
  abandonedHolds,
  ledgerOverrunUsd,
  ledgerSeconds,
  ledgerBatchSize,
  traceExports,
  providerOutcomes,
  providerRequests,
  providerSeconds,
  rpcNodeOutcomes,
  rpcNodeSeconds,
  rpcNodeCircuit,
  rpcNodeBehind,
  rpcSecondNodes,
  rpcKept,
] as const;

export const WORKER_COUNTERS = [
  ledgerSeconds,
  ledgerBatchSize,
  traceExports,
  holdsExpired,
  jobsReached,
  refunds,
  refundFailures,
  topUpsReached,
  providerOutcomes,
  providerSeconds,
  activitySeconds,
  activityWaitSeconds,
] as const;

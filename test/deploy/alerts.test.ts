/** Alert rules: every money problem has one, and each reads series that our processes export from their start. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { registerLedgerMetrics } from '../../infra/telemetry/ledgerMetrics.ts';
import { ROOT } from '../harness/spawn.ts';

interface Rule {
  alert: string;
  expr: string;
}

const file = readFileSync(path.join(ROOT, 'infra/deploy/prometheus/alerts.yml'), 'utf8');
const { groups } = parse(file) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** Names and label matchers of the series in a rule. */
function seriesOf({ expr }: Rule): [name: string, labels: string][] {
  return [...expr.matchAll(/(farebox_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', labels = '']) => [name, labels]);
}

describe('the alert rules', () => {
  it.each<[string, string, string?]>([
    ['old holds', 'farebox_holds_oldest_seconds'],
    ['holds that cannot be expired', 'farebox_holds_expired_total'],
    ['jobs past their deadline', 'farebox_jobs_overdue'],
    ['refunds that fail', 'farebox_refund_failures_total'],
    ['payments on their way for long', 'farebox_top_ups_oldest_seconds'],
    ['payments that paid something else', 'farebox_top_ups_total'],
    ['bills that nobody paid', 'farebox_ledger_overrun_usd_total'],
    ['bills without their hold', 'farebox_ledger_overruns_total'],
    ['bills of left streams above their hold', 'farebox_ledger_overrun_usd_total', 'outcome="left"'],
  ])('contain %s', (_trouble, metric, matcher = '') => {
    const read = rules.flatMap(seriesOf).filter(([name, labels]) => name === metric && labels.includes(matcher));
    expect(read).not.toEqual([]);
  });

  it.each(rules.map((rule) => [rule.alert, rule] as const))('use existing metrics in %s', async (_alert, rule) => {
    vi.resetModules();
    const { API_COUNTERS, WORKER_COUNTERS } = await import('../../infra/telemetry/counters.ts');
    const registry = new Registry();
    registerLedgerMetrics(registry, {} as never);
    const gauges = registry.getMetricsAsArray().map(({ name }) => name);
    const counters = [...API_COUNTERS, ...WORKER_COUNTERS].map(
      (counter) => (counter as unknown as { name: string }).name,
    );
    for (const [name] of seriesOf(rule)) expect([...gauges, ...counters]).toContain(name);
  });
});

// An increase is only visible from an earlier value, and the first one must not be missed.
it.each([
  ['farebox_ledger_overrun_usd_total', 'outcome', ['left', 'missing', 'taken']],
  [
    'farebox_ledger_overruns_total',
    'cause',
    ['above_hold', 'expired', 'left_above_hold', 'released', 'no_hold', 'unwritten'],
  ],
  ['farebox_holds_expired_total', 'outcome', ['expired', 'failed']],
] as const)('starts %s at 0 with the process', async (name, label, values) => {
  vi.resetModules();
  const { API_COUNTERS, WORKER_COUNTERS } = await import('../../infra/telemetry/counters.ts');
  const counters = [...API_COUNTERS, ...WORKER_COUNTERS].map((counter) => counter.get());
  const found = (await Promise.all(counters)).find((counter) => counter.name === name);
  const series = (found?.values ?? []) as { labels: Record<string, string>; value: number }[];
  expect(new Map(series.map(({ labels, value }) => [labels[label], value]))).toEqual(
    new Map(values.map((value) => [value, 0])),
  );
});

/** Observability of real processes: traces at a collector, metrics at both ports, and the dashboard over them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TRACE_HEADER } from '../../../domain/traceHeader.ts';
import { tracingSinks } from '../../../workers/tracing.ts';
import { eventually } from '../../acceptance/deployment.ts';
import { completeForGood, outcomeOf, queueFile, queueIdOf, queueJson, untilState } from '../../acceptance/orders.ts';
import { toneWav } from '../../acceptance/recordings.ts';
import { ROOT } from '../../harness/spawn.ts';
import type { CollectedSpan } from '../../stubs/collector.ts';
import { seriesValue } from './seriesValue.ts';
import { CLOUD, FAILING, openWatchedWorld, POLLED, SECRET_IN_URL, type WatchedWorld } from './watchedWorld.ts';

let world: WatchedWorld;

beforeAll(async () => {
  world = await openWatchedWorld();
});

afterAll(async () => {
  await world?.close();
});

const named = (spans: CollectedSpan[], name: string) => spans.find((span) => span.name === name);

/** Span names from a span up to the root. */
function pathOf(spans: CollectedSpan[], name: string): string[] {
  const path: string[] = [];
  for (let span = named(spans, name); span; ) {
    path.push(span.name);
    const { parentSpanId } = span;
    span = spans.find(({ spanId }) => spanId === parentSpanId);
  }
  return path;
}

describe('traces', () => {
  test("cover a job in one trace, from the request to the provider's call and the end of its workflow", async () => {
    const { farebox, cloud } = world;
    const { api } = farebox.account;
    const ordered = await queueJson(api, { model: CLOUD, audio_url: world.sourceUrl, voice: 'Aria' });
    const job = { model: CLOUD, queueId: queueIdOf(ordered) };
    await untilState(api, job.queueId, 'stored');
    await completeForGood(api, job);
    const traceId = ordered.headers.get('x-request-id') ?? '';
    const root = 'POST /audio/voice-changer/queue';
    const spans = await world.trace(traceId, 'workflow generation', 'elevenlabs start', root);

    expect(pathOf(spans, 'limits')).toEqual(['limits', root]);
    expect(pathOf(spans, 'start generation')).toEqual(['start generation', root]);
    expect(pathOf(spans, 'measureSource')).toEqual(['measureSource', 'start generation', root]);
    expect(pathOf(spans, 'ledger charge')).toEqual(['ledger charge', 'acceptJob', 'start generation', root]);
    const call = `POST ${new URL(cloud.baseUrl).hostname}`;
    expect(pathOf(spans, call)).toEqual([call, 'elevenlabs start', 'generate', 'start generation', root]);
    expect(pathOf(spans, 'workflow generation')).toEqual(['workflow generation', 'start generation', root]);
    expect(named(spans, root)).toMatchObject({
      service: 'farebox-api',
      parentSpanId: '',
      kind: 'SERVER',
      failed: false,
      attributes: { 'http.route': '/audio/voice-changer/queue', 'http.response.status_code': 200 },
    });
    expect(named(spans, 'elevenlabs start')).toMatchObject({
      service: 'farebox-worker',
      attributes: { 'farebox.queue_id': job.queueId, 'farebox.model': CLOUD, 'farebox.outcome': 'done' },
    });
  });

  test('show the workflow as long as the job, and no span that ends before it begins', async () => {
    const workflow = world.collector.spans.find(({ name }) => name === 'workflow generation');
    const generate = world.collector.spans.find(
      ({ name, traceId }) => name === 'generate' && traceId === workflow?.traceId,
    );
    expect(workflow?.startedAtMs).toBeLessThanOrEqual(generate?.startedAtMs ?? 0);
    expect(workflow?.endedAtMs).toBeGreaterThanOrEqual(generate?.endedAtMs ?? Number.POSITIVE_INFINITY);
    expect(world.collector.spans.filter((span) => span.endedAtMs < span.startedAtMs)).toEqual([]);
  });

  test('do not change the replay of a job', async () => {
    const { attributes } = world.collector.spans.find(({ name }) => name === 'workflow generation') ?? {};
    const handle = world.farebox.temporal.workflow.getHandle(String(attributes?.['temporal.workflow_id']));
    Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) });
    const workflowBundle = { codePath: path.join(ROOT, 'dist/workers/workflows.bundle.js') };
    const history = await handle.fetchHistory();
    expect(JSON.stringify(history)).toContain(TRACE_HEADER);
    await Worker.runReplayHistory({ workflowBundle, sinks: tracingSinks }, history);
  });

  test('show no failure while a provider is awaited, and the refund of a failed job', async () => {
    const { api } = world.farebox.account;
    const polled = await queueFile(api, { model: POLLED, source: toneWav(2) });
    const failing = await queueFile(api, { model: FAILING, source: toneWav(2) });
    const job = { model: POLLED, queueId: queueIdOf(polled) };
    await untilState(api, job.queueId, 'stored');
    await completeForGood(api, job);
    const waited = await world.trace(polled.headers.get('x-request-id') ?? '', 'workflow generation');
    const checks = waited.filter(({ name }) => name === 'awaitOutcome');
    expect(checks.map((span) => span.attributes['farebox.outcome'])).toContain('waiting');
    expect(waited.filter(({ failed }) => failed)).toEqual([]);
    await outcomeOf(api, { model: FAILING, queueId: queueIdOf(failing) });
    const refunded = await world.trace(failing.headers.get('x-request-id') ?? '', 'ledger refund', 'endJob');
    expect(pathOf(refunded, 'ledger refund').slice(0, 2)).toEqual(['ledger refund', 'endJob']);
  });

  test('show the limits and the ledger of a read, and the code of a refusal without its message', async () => {
    const { farebox, trace } = world;
    await farebox.account.api.get('/billing/balance', { key: farebox.account.adminKey });
    const reply = await farebox.account.api.get('/billing/balance', { key: farebox.account.adminKey });
    const requestId = reply.headers.get('x-request-id') ?? '';
    const spans = await trace(requestId, 'GET /billing/balance');
    expect(spans.map(({ name }) => name).sort()).toEqual(['GET /billing/balance', 'ledger balance', 'limits']);
    expect(named(spans, 'limits')?.attributes).toMatchObject({ 'farebox.outcome': 'admitted' });

    const refused = await farebox.account.api.post('/audio/voice-changer/queue', {
      json: { model: 'no-such-model', audio_url: world.sourceUrl },
    });
    const root = 'POST /audio/voice-changer/queue';
    const told = await trace(refused.headers.get('x-request-id') ?? '', root);
    expect(refused.status).toBe(404);
    expect(named(told, root)?.attributes['error.type']).toBe('model_not_found');
  });

  test('leave out requests of load balancers and Prometheus', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) await fetch(`${world.farebox.origin}${path}`);
    await world.farebox.account.api.get('/billing/balance', { key: world.farebox.account.adminKey });
    await eventually(async () => (world.collector.spans.length > 0 ? true : undefined));
    const routes = world.collector.spans.map(({ attributes }) => attributes['http.route']);
    expect(routes.filter((route) => /healthz|readyz|metrics/.test(String(route)))).toEqual([]);
  });

  test('contain no key, no query of a URL and no path of a provider', () => {
    const { farebox, cloud, collector } = world;
    const sent = Buffer.concat(collector.bodies).toString('latin1');
    expect(sent).toContain('elevenlabs start');
    const { inferenceKey, adminKey } = farebox.account;
    for (const secret of [inferenceKey, adminKey, inferenceKey.slice(-20), cloud.apiKey, SECRET_IN_URL]) {
      expect(sent).not.toContain(secret);
    }
    expect(sent).not.toContain('speech-to-speech');
    expect(sent).not.toContain('token=');
  });
});

describe('metrics', () => {
  test('of the API count requests, its additions to them, and the decisions of the limiter', async () => {
    const { api } = await world.scrape();
    const route = { route: '/audio/voice-changer/queue' };
    expect(seriesValue(api, 'farebox_http_request_duration_seconds_count', { ...route, status: '200' })).toBe(3);
    expect(seriesValue(api, 'farebox_http_added_seconds_count', route)).toBeGreaterThanOrEqual(3);
    const admitted = { outcome: 'admitted', limit: 'none', counted: 'redis' };
    expect(seriesValue(api, 'farebox_limiter_decisions_total', admitted)).toBeGreaterThan(3);
    expect(seriesValue(api, 'farebox_limiter_fallback')).toBe(0);
    expect(seriesValue(api, 'farebox_ledger_duration_seconds_count', { operation: 'balance' })).toBeGreaterThan(0);
    expect(seriesValue(api, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(seriesValue(api, 'farebox_trace_spans_total', { outcome: 'sent' })).toBeGreaterThan(3);
  });

  test('of the API show holds, jobs and queue lengths', async () => {
    const { api } = await world.scrape();
    expect(seriesValue(api, 'farebox_database_figures_readable')).toBe(1);
    expect(seriesValue(api, 'farebox_holds_open')).toBe(0);
    expect(seriesValue(api, 'farebox_holds_oldest_seconds')).toBe(0);
    expect(seriesValue(api, 'farebox_queue_backlog_tasks', { queue: 'jobs', kind: 'workflow' })).toBe(0);
    expect(seriesValue(api, 'farebox_queue_backlog_age_seconds', { queue: 'media', kind: 'activity' })).toBe(0);
  });

  test('of the worker count jobs by state and model, refunds, provider outcomes and its steps', async () => {
    const { worker } = await world.scrape();
    const jobs = (model: string, state: string) => seriesValue(worker, 'farebox_jobs_total', { model, state });
    for (const state of ['accepted', 'stored', 'deleted']) expect(jobs(CLOUD, state)).toBe(1);
    expect(jobs(FAILING, 'failed')).toBe(1);
    expect(seriesValue(worker, 'farebox_refunds_total', { model: FAILING, reason: 'provider_failed' })).toBe(1);
    const outcome = (provider: string, told: string) =>
      seriesValue(worker, 'farebox_provider_outcomes_total', { provider, outcome: told });
    expect(outcome('elevenlabs', 'done')).toBe(1);
    expect(outcome('simulated', 'refused_failed')).toBe(1);
    expect(seriesValue(worker, 'farebox_provider_duration_seconds_count', { provider: 'elevenlabs' })).toBe(1);
    expect(seriesValue(worker, 'farebox_ledger_batch_size_sum', { operation: 'charge' })).toBe(3);
    const step = { activity: 'awaitOutcome', outcome: 'waiting' };
    expect(seriesValue(worker, 'farebox_activity_duration_seconds_count', step)).toBeGreaterThan(0);
    expect(seriesValue(worker, 'farebox_activity_wait_seconds_count', { queue: 'media' })).toBeGreaterThan(0);
    expect(seriesValue(worker, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
  });

  test('of the API show chain nodes by place and host', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [] };
    const answer = await world.farebox.account.api.post('/crypto/rpc/base-sepolia', { json: call });
    expect(answer.status).toBe(200);
    const requests = await eventually(async () => {
      const { api } = await world.scrape();
      // The first check of the node's height, and the call.
      const labels = { network: 'base-sepolia', outcome: 'answered' };
      const behind = seriesValue(api, 'farebox_rpc_node_blocks_behind', { network: 'base-sepolia' });
      return behind === 0 ? { api, count: seriesValue(api, 'farebox_rpc_node_requests_total', labels) } : undefined;
    });
    expect(requests.count).toBeGreaterThan(0);
    expect(requests.api).toMatch(/farebox_rpc_node_requests_total\{network="base-sepolia",node="0 127\.0\.0\.1:\d+"/);
    expect(requests.api).not.toContain(SECRET_IN_URL);
  });

  test('count sign-ins of wallets by family and outcome', async () => {
    const headers = { 'SIGN-IN-WITH-X': 'no sign-in' };
    expect((await fetch(`${world.farebox.baseUrl}/jobs`, { headers })).status).toBe(401);
    const { api } = await world.scrape();
    const labels = { family: 'unknown', outcome: 'parse_error' };
    expect(seriesValue(api, 'farebox_sign_ins_total', labels)).toBe(1);
  });

  test('have no label for an account, a key or a job', async () => {
    const { api, worker } = await world.scrape();
    expect(`${api}${worker}`).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{32}|FAREBOX_/);
  });
});

describe('the dashboard', () => {
  test('queries only exported metrics and labels, and leaves none of ours out', async () => {
    const { api, worker } = await world.scrape();
    const exported = exportedBy(`${api}\n${worker}`);
    const asked = new Set(queries().flatMap((query) => query.match(METRIC) ?? []));
    expect([...asked].filter((name) => !exported.series.has(name))).toEqual([]);
    const labels = queries().flatMap((query) => [...query.matchAll(LABELS)].flatMap(([, by = '']) => by.split(', ')));
    expect(labels.filter((label) => !exported.labels.has(label))).toEqual([]);
    const shown = [...asked].map((name) => name.replace(/_(bucket|count|sum)$/, ''));
    expect([...exported.ours].filter((name) => !shown.includes(name))).toEqual([]);
  });

  test('gives every panel a title, a unit, a description, a query and its own place', () => {
    for (const { title, description, fieldConfig, targets } of panels()) {
      const said = { title, description, unit: fieldConfig?.defaults.unit, query: targets?.[0]?.expr };
      for (const [what, value] of Object.entries(said)) expect(`${title} ${what}: ${value}`).toMatch(/: ./);
    }
    const places = panels().map(({ gridPos }) => JSON.stringify(gridPos));
    expect(new Set(places).size).toBe(places.length);
    expect(panels().length).toBeGreaterThan(20);
  });
});

describe('stopped processes', () => {
  test('leave work behind that is shown as waiting for the version that served it', async () => {
    const { farebox } = world;
    await farebox.worker.stop();
    const waiting = { taskQueue: 'jobs', args: ['expireHolds'], workflowId: 'waits-for-a-worker' };
    await farebox.temporal.workflow.start('upkeep', waiting);
    const labels = { queue: 'jobs', kind: 'workflow' };
    await eventually(async () => {
      const text = await (await fetch(`${farebox.origin}/metrics`)).text();
      const count = seriesValue(text, 'farebox_queue_backlog_tasks', labels) ?? 0;
      const age = seriesValue(text, 'farebox_queue_backlog_age_seconds', labels) ?? 0;
      return count > 0 && age > 0 ? true : undefined;
    });
  });

  test('send waiting spans to the collector', async () => {
    const { farebox, collector } = world;
    const reply = await farebox.account.api.get('/models');
    await farebox.api.stop();
    const requestId = reply.headers.get('x-request-id');
    const sent = collector.spans.filter(({ traceId }) => traceId === requestId);
    expect(sent.map(({ name }) => name)).toContain('GET /models');
  });
});

const LABELS = /by \(([^)]+)\)/g;
const METRIC = /\b(farebox|nodejs|process)_[a-z0-9_]+/g;

interface Panel {
  type: string;
  title?: string;
  description?: string;
  gridPos: object;
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string }[];
}

function panels(): Panel[] {
  const file = path.join(ROOT, 'infra/deploy/grafana/farebox.json');
  const dashboard = JSON.parse(readFileSync(file, 'utf8')) as { panels: Panel[] };
  return dashboard.panels.filter(({ type }) => type !== 'row');
}

function queries(): string[] {
  return panels().flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** Metric names of a scrape, and their series, which differ for histograms. */
function exportedBy(text: string): { series: Set<string>; labels: Set<string>; ours: Set<string> } {
  const series = new Set<string>();
  const ours = new Set<string>();
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const endings = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const ending of endings) series.add(name + ending);
    if (name.startsWith('farebox_')) ours.add(name);
  }
  // Prometheus adds `instance` itself.
  const labels = new Set(['instance', ...[...text.matchAll(/[{,]([a-z_]+)="/g)].map(([, label = '']) => label)]);
  return { series, labels, ours };
}

/** Edge cases of tracing: switched off, an unreachable collector, and headers of strangers. */
import { createRequire } from 'node:module';
import net from 'node:net';
import { defaultPayloadConverter } from '@temporalio/common';
import { afterEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../../infra/log.ts';
import { traceExports } from '../../../infra/telemetry/counters.ts';
import { inSpan, recordWith, requestSpan, traceparent } from '../../../infra/telemetry/spans.ts';
import { startTracing } from '../../../infra/telemetry/startTracing.ts';
import { traceOf } from '../../../infra/temporal/traceHeaders.ts';
import { startApi, type TestApi } from '../../api/startApi.ts';
import { endsBefore } from '../../harness/until.ts';
import { type Collector, startCollector } from '../../stubs/collector.ts';

const loaded = () =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) =>
    /@opentelemetry\/(sdk-trace|exporter|otlp|resources)/.test(file),
  );

const lines: string[] = [];
const log = createLogger({ level: 'info', name: 'test', destination: { write: (line) => lines.push(line) } });
const ID = 'ab'.repeat(16);

let closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
  lines.length = 0;
});

async function tracingTo(otlpEndpoint: string) {
  const tracing = await startTracing({ otlpEndpoint, buildId: 'test' }, 'api', log);
  closing.push(() => tracing.stop());
  return tracing;
}

async function collector(): Promise<Collector> {
  const started = await startCollector();
  closing.push(() => started.close());
  return started;
}

describe('without a collector', () => {
  test('loads no tracing library, and a step only runs its work', async () => {
    const tracing = await startTracing({ buildId: 'test' }, 'api', log);
    expect(loaded()).toEqual([]);
    expect(requestSpan(ID, {})).toBeUndefined();
    expect(traceparent()).toBeUndefined();
    await expect(inSpan({ name: 'a', kind: 'client', root: true }, async () => 7)).resolves.toBe(7);
    await tracing.stop();
  });
});

describe('with a collector', () => {
  test('nests steps across waits, and does not record a step outside a trace', async () => {
    const { endpoint, spans } = await collector();
    const tracing = await tracingTo(endpoint);
    await inSpan({ name: 'of nothing', kind: 'client' }, async () => undefined);
    const request = requestSpan(ID, { 'http.request.method': 'GET' });
    await request?.run(async () => {
      await inSpan({ name: 'outer', kind: 'internal' }, async () => {
        await new Promise(setImmediate);
        expect(traceparent()).toMatch(new RegExp(`^00-${ID}-[0-9a-f]{16}-01$`));
        await Promise.all(['a', 'b'].map((name) => inSpan({ name, kind: 'client' }, async () => undefined)));
      });
    });
    request?.end('/x', {}, false);
    await tracing.stop();
    await expect.poll(() => spans.length).toBe(4);
    const idOf = (name: string) => spans.find((span) => span.name === name)?.spanId;
    const parents = Object.fromEntries(spans.map(({ name, parentSpanId }) => [name, parentSpanId]));
    expect(parents).toEqual({ 'GET /x': '', outer: idOf('GET /x'), a: idOf('outer'), b: idOf('outer') });
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([ID]));
  });

  test('marks the span of an error by its class, without its message', async () => {
    const { endpoint, spans, bodies } = await collector();
    const tracing = await tracingTo(endpoint);
    const work = inSpan({ name: 'step', kind: 'client', root: true }, async () => {
      throw new TypeError('the prompt was: tell me a secret');
    });
    await expect(work).rejects.toThrow('secret');
    await tracing.stop();
    await expect.poll(() => spans.length).toBe(1);
    expect(spans).toMatchObject([{ name: 'step', failed: true, attributes: { 'error.type': 'TypeError' } }]);
    expect(Buffer.concat(bodies).toString('latin1')).not.toContain('secret');
  });
});

describe('an unreachable or slow collector', () => {
  const counted = async (outcome: string) =>
    (await traceExports.get()).values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;

  const step = () => inSpan({ name: 'step', kind: 'client', root: true }, async () => undefined);

  async function blackHole(): Promise<string> {
    const sockets = new Set<net.Socket>();
    const server = net.createServer((socket) => sockets.add(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  }

  async function apiWith(otlpEndpoint: string): Promise<TestApi> {
    await tracingTo(otlpEndpoint);
    const api = await startApi();
    closing.push(() => api.stop());
    return api;
  }

  test('costs no request anything, is logged once and counted', async () => {
    const before = await counted('lost');
    const api = await apiWith('http://127.0.0.1:1');
    const { secret } = await api.newKey('ADMIN');
    for (let asked = 0; asked < 20; asked += 1) {
      expect((await api.call('/billing/balance', { key: secret })).status).toBe(200);
    }
    await expect.poll(async () => (await counted('lost')) - before).toBeGreaterThan(20);
    expect(lines.filter((line) => line.includes('the collector does not take traces'))).toHaveLength(1);
  });

  test('leaves no more spans waiting than the queue holds', async () => {
    const { endpoint, spans } = await collector();
    const { openTelemetry } = await import('../../../infra/telemetry/openTelemetry.ts');
    const options = { endpoint, service: 'api', buildId: 'test', onLost: () => undefined } as const;
    const { recorder, close } = openTelemetry(options);
    recordWith(recorder);
    closing.push(() => recordWith(undefined));
    const before = (await counted('sent')) + (await counted('lost'));
    // All in one turn of the event loop, in which nothing can be sent.
    await Promise.all(Array.from({ length: 20_000 }, step));
    await close();
    const waited = (await counted('sent')) + (await counted('lost')) - before;
    expect(waited).toBeGreaterThan(4_000);
    expect(waited).toBeLessThan(5_000);
    expect(spans.length).toBeGreaterThan(4_000);
    expect(spans.length).toBeLessThan(5_000);
  });

  test('that never answers delays the end by two seconds only', async () => {
    const tracing = await tracingTo(await blackHole());
    await Promise.all(Array.from({ length: 2_000 }, step));
    // The exporter itself would wait for ten seconds.
    expect(await endsBefore(tracing.stop(), 8_000)).toBe(true);
  });
});

describe('the trace header of a workflow', () => {
  const headerOf = (value: unknown) => ({ '_tracer-data': defaultPayloadConverter.toPayload(value) });

  test('names the span to continue below', () => {
    const parent = `00-${ID}-${'cd'.repeat(8)}-01`;
    expect(traceOf(headerOf({ traceparent: parent }))).toBe(parent);
  });

  test.each([null, 7, 'text', [], {}, { traceparent: 7 }])('%j is ignored as a trace without an error', (value) => {
    expect(traceOf(headerOf(value))).toBeUndefined();
  });

  test('is ignored as a trace when it is missing or invalid', () => {
    expect(traceOf({})).toBeUndefined();
    expect(traceOf({ '_tracer-data': { data: new Uint8Array([1, 2]) } })).toBeUndefined();
  });

  test.each(['', 'x', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, `00-${ID}-zz-01`])(
    'with an invalid parent (%j) starts a new trace',
    async (parent) => {
      const { endpoint, spans } = await collector();
      const tracing = await tracingTo(endpoint);
      await inSpan({ name: 'step', kind: 'client', root: true, parent }, async () => undefined);
      await tracing.stop();
      await expect.poll(() => spans.length).toBe(1);
      expect(spans).toMatchObject([{ parentSpanId: '', traceId: expect.stringMatching(/^[0-9a-f]{32}$/) }]);
    },
  );
});

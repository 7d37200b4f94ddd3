import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { SimulatorFault } from '../../../providers/simulator/settings.ts';
import { audio, context, simulator, useSimulatorState, video } from './mediaOrders.ts';

useSimulatorState();

describe('a service without a queue', () => {
  it('answers with the result after the latency, and sends heartbeats meanwhile', async () => {
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const call = await context();
    const readyAtMs = Date.now() + 1_500;
    // Its clock goes on with each sign of life.
    const heartbeat = () => {
      call.heartbeat();
      vi.setSystemTime(Date.now() + 500);
    };
    const outcome = await simulator({ synchronous: true, latencyMs: 1_500 }).start(audio(), { ...call, heartbeat });
    expect(outcome.status).toBe('done');
    expect(Date.now()).toBeGreaterThanOrEqual(readyAtMs);
    expect(call.beats).toBeGreaterThan(1);
  });

  it('that is aborted leaves an accepted order, which can be looked up', async () => {
    const provider = simulator({ synchronous: true, latencyMs: 1_000 });
    const request = audio();
    const abort = new AbortController();
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const call = await context(abort.signal);
    const running = provider.start(request, { ...call, heartbeat: () => abort.abort() });
    expect((await running).status).toBe('unknown');
    vi.setSystemTime(Date.now() + 1_000);
    expect((await provider.find?.(request.reference, await context()))?.status).toBe('done');
  });

  it('that hangs keeps the caller until it aborts', async () => {
    const abort = new AbortController();
    const call = await context(abort.signal);
    const heartbeat = () => {
      call.heartbeat();
      setTimeout(() => abort.abort(), 100);
    };
    const request = audio();
    const outcome = await simulator({ synchronous: true, outcome: 'hang' }).start(request, { ...call, heartbeat });
    expect(outcome.status).toBe('unknown');
    expect(call.beats).toBeGreaterThan(0);
  });

  it('ends with its outcome and faults like any other service', async () => {
    const outcome = await simulator({ synchronous: true, latencyMs: 100, outcome: 'failed' }).start(
      video(),
      await context(),
    );
    expect(outcome).toMatchObject({ status: 'refused', reason: 'failed' });
    const late: SimulatorFault = { at: 'download', kind: 'late-success', every: 1, delayMs: 200 };
    const done = await simulator({ synchronous: true, faults: [late] }).start(audio(), await context());
    expect(done.status).toBe('done');
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { SimulatorFault } from '../../../providers/simulator/settings.ts';
import { audio, context, simulator, useSimulatorState, video } from './mediaOrders.ts';

useSimulatorState();

describe('a service without a queue', () => {
  it('answers with the result after the latency, and says meanwhile that it lives', async () => {
    const call = await context();
    const startedAt = performance.now();
    const outcome = await simulator({ synchronous: true, latencyMs: 1_500 }).start(audio(), call);
    expect(outcome.status).toBe('done');
    expect(performance.now() - startedAt).toBeGreaterThan(1_450);
    expect(call.beats).toBeGreaterThan(1);
  });

  it('that is given up leaves an accepted order, which can be asked for', async () => {
    const provider = simulator({ synchronous: true, latencyMs: 1_000 });
    const request = audio();
    const abort = new AbortController();
    const running = provider.start(request, await context(abort.signal));
    setTimeout(() => abort.abort(), 200);
    expect((await running).status).toBe('unknown');
    await sleep(1_000);
    expect((await provider.find?.(request.reference, await context()))?.status).toBe('done');
  });

  it('that hangs keeps the caller until it is given up', async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    const call = await context(abort.signal);
    const outcome = await simulator({ synchronous: true, outcome: 'hang' }).start(audio(), call);
    expect(outcome.status).toBe('unknown');
    expect(call.beats).toBeGreaterThan(0);
  });

  it('ends with its outcome and its faults as any other', async () => {
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

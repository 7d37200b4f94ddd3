import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyAudio } from '../../../engines/media/measureAudio.ts';
import { checkAudioFile } from '../../../providers/shared/audioFile.ts';
import type { CallContext, Outcome, VoiceChangeRequest } from '../../../providers/shared/provider.ts';
import { openOrders } from '../../../providers/simulator/orders.ts';
import {
  SIMULATOR_FAULTS,
  SIMULATOR_OUTCOMES,
  SIMULATOR_STAGES,
  type SimulatorFault,
  type SimulatorSettings,
} from '../../../providers/simulator/settings.ts';
import { createSimulator } from '../../../providers/simulator/simulator.ts';
import { ranMs } from '../../harness/stall.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'farebox-simulator-'));
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(root, { recursive: true, force: true });
});

/** Orders take their latency by a clock that only the test moves. */
const stopClock = () => void vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
const pass = (ms: number) => void vi.setSystemTime(Date.now() + ms);

/** Sounds are made without an external program. */
const NO_TOOLS = { ffmpegPath: '/no/ffmpeg', ffprobePath: '/no/ffprobe', workFolder: '/nowhere' };

function settings(change: Partial<SimulatorSettings> = {}): SimulatorSettings {
  return {
    kind: 'simulator',
    latencyMs: 0,
    outcome: 'done',
    faults: [],
    lookup: true,
    synchronous: false,
    models: {},
    ...change,
  };
}

function simulator(change: Partial<SimulatorSettings> = {}) {
  return createSimulator(settings(change), { stateFolder: join(root, 'state'), tools: NO_TOOLS });
}

function order(change: Partial<VoiceChangeRequest> = {}): VoiceChangeRequest {
  return {
    kind: 'voice-changer',
    reference: crypto.randomUUID(),
    upstreamModel: 'flaky-voice',
    sourcePath: '/nowhere/source.wav',
    sourceContentType: 'audio/wav',
    sourceDemuxer: 'wav',
    sourceSeconds: 2,
    voice: 'alto',
    removeBackgroundNoise: false,
    ...change,
  };
}

async function context(signal = new AbortController().signal): Promise<CallContext & { beats: number }> {
  const call = {
    workFolder: await mkdtemp(join(root, 'call-')),
    signal,
    beats: 0,
    heartbeat: () => {
      call.beats += 1;
    },
  };
  return call;
}

async function outputOf(outcome: Outcome | undefined): Promise<Buffer> {
  if (outcome?.status !== 'done') throw new Error(`not done: ${JSON.stringify(outcome)}`);
  return readFile(outcome.output.path);
}

const fault = (change: Partial<SimulatorFault>): SimulatorFault => ({
  at: 'submit',
  kind: 'reply-lost',
  every: 1,
  ...change,
});

describe('without latency', () => {
  it('an order is done at once, with a test tone as long as the source', async () => {
    const outcome = await simulator().start(order({ sourceSeconds: 2.5 }), await context());
    expect(outcome).toMatchObject({ status: 'done', output: { contentType: 'audio/wav' } });
    const bytes = await outputOf(outcome);
    expect(bytes.readUInt32LE(4) + 8).toBe(bytes.length);
    expect(bytes.length - bytes.indexOf('data') - 8).toBe(2.5 * 8_000 * 2);
    expect(bytes.toString('latin1')).toContain('Farebox simulator: a test tone');
    expect(await checkAudioFile((outcome as { output: { path: string } }).output.path)).toMatchObject({
      ok: true,
      contentType: 'audio/wav',
    });
  });

  it('the output depends on voice and seed alone, and names the simulator', async () => {
    const provider = simulator();
    const tone = async (change: Partial<VoiceChangeRequest>) =>
      outputOf(await provider.start(order(change), await context()));
    expect(await tone({})).toEqual(await tone({}));
    expect(await tone({ voice: 'bass' })).not.toEqual(await tone({}));
    expect(await tone({ seed: 7 })).not.toEqual(await tone({}));
    expect(await provider.start(order({ reference: 'r-1' }), await context())).toMatchObject({
      output: { providerReference: 'simulator:r-1' },
    });
  });

  it('a two-second order takes a few milliseconds', async () => {
    const provider = simulator();
    await provider.start(order(), await context());
    const contexts = await Promise.all(Array.from({ length: 100 }, () => context()));
    const startMs = ranMs();
    for (const call of contexts) await provider.start(order(), call);
    expect((ranMs() - startMs) / contexts.length).toBeLessThan(50);
  });
});

describe('with latency', () => {
  it('an order runs for the latency and is then done for every replica', async () => {
    stopClock();
    const started = await simulator({ latencyMs: 500 }).start(order(), await context());
    if (started.status !== 'running') throw new Error(started.status);
    expect(JSON.parse(JSON.stringify(started.operation))).toEqual(started.operation);
    expect(started.retryAfterMs).toBeGreaterThan(0);
    const replica = simulator({ latencyMs: 500 });
    expect(await replica.check?.(started.operation, await context())).toMatchObject({ status: 'running' });
    pass(500);
    expect(await replica.check?.(started.operation, await context())).toMatchObject({ status: 'done' });
  });

  it('percent grows and stays below 100 while running', async () => {
    stopClock();
    const provider = simulator({ latencyMs: 60_000 });
    const started = await provider.start(order(), await context());
    expect(started).toMatchObject({ status: 'running', percent: 0, retryAfterMs: 5_000 });
    if (started.status !== 'running') throw new Error(started.status);
    const half = { ...started.operation, acceptedAtMs: Date.now() - 30_000, readyAtMs: Date.now() + 30_000 };
    expect(await provider.check?.(half, await context())).toMatchObject({ percent: 50 });
  });

  it('an order with the outcome `hang` never ends', async () => {
    const provider = simulator({ outcome: 'hang' });
    const started = await provider.start(order(), await context());
    expect(started).toMatchObject({ status: 'running', percent: 99 });
  });
});

describe('outcomes', () => {
  const refusals = [
    ['refused', 'refused'],
    ['content_policy', 'content_policy'],
    ['failed', 'failed'],
    ['credential', 'credential'],
  ] as const;
  it.each(refusals)('%s ends every order with the reason %s', async (outcome, reason) => {
    const now = await simulator({ outcome }).start(order(), await context());
    expect(now).toMatchObject({ status: 'refused', reason, message: expect.stringContaining('Simulated') });
    stopClock();
    const provider = simulator({ outcome, latencyMs: 400 });
    const started = await provider.start(order(), await context());
    if (started.status !== 'running') throw new Error(started.status);
    pass(400);
    expect(await provider.check?.(started.operation, await context())).toMatchObject({
      status: 'refused',
      reason,
    });
  });

  const spoiled = [
    ['garbage-output', 'the output is not audio'],
    ['empty-output', 'the output is empty'],
    ['truncated-output', 'the output is cut off'],
  ] as const;
  it.each(spoiled)('%s is detected in the file', async (kind, detail) => {
    const byOutcome = await simulator({ outcome: kind }).start(order(), await context());
    const byFault = await simulator({ faults: [fault({ at: 'download', kind })] }).start(order(), await context());
    const bySubmit = await simulator({ faults: [fault({ kind })] }).start(order(), await context());
    for (const outcome of [byOutcome, byFault, bySubmit]) {
      if (outcome.status !== 'done') throw new Error(outcome.status);
      expect(await checkAudioFile(outcome.output.path)).toEqual({ ok: false, detail });
    }
  });

  it("are chosen per model, with the entry's own for the rest", async () => {
    const provider = simulator({ models: { bad: { outcome: 'failed' }, slow: { latencyMs: 60_000 } } });
    const start = async (upstreamModel: string) => provider.start(order({ upstreamModel }), await context());
    expect((await start('bad')).status).toBe('refused');
    expect((await start('slow')).status).toBe('running');
    expect((await start('other')).status).toBe('done');
    expect((await start('constructor')).status).toBe('done');
  });
});

describe('a lost reply', () => {
  it('at submit leaves the order accepted, and another process finds it by our reference', async () => {
    const request = order();
    const lost = await simulator({ faults: [fault({})] }).start(request, await context());
    expect(lost.status).toBe('unknown');
    const found = await simulator().find?.(request.reference, await context());
    expect(found).toMatchObject({ status: 'done', output: { providerReference: expect.any(String) } });
    expect(await openOrders(join(root, 'state')).submissions(request.reference)).toHaveLength(1);
  });

  it('after a lost request leaves nothing accepted', async () => {
    const request = order();
    const provider = simulator({ faults: [fault({ kind: 'request-lost' })] });
    expect((await provider.start(request, await context())).status).toBe('unknown');
    expect(await provider.find?.(request.reference, await context())).toBeUndefined();
  });

  it('cannot be looked up when look-ups are disabled', async () => {
    expect(simulator({ lookup: false }).find).toBeUndefined();
    const provider = simulator({ models: { deaf: { lookup: false } } });
    const request = order({ upstreamModel: 'deaf' });
    await provider.start(request, await context());
    expect(await provider.find?.(request.reference, await context())).toMatchObject({ status: 'unknown' });
  });

  it('at poll or download is unknown, and the next poll is answered', async () => {
    stopClock();
    for (const at of ['poll', 'download'] as const) {
      const provider = simulator({ latencyMs: 400, faults: [fault({ at, every: 2 })] });
      const started = await provider.start(order({ upstreamModel: `m-${at}` }), await context());
      if (started.status !== 'running') throw new Error(started.status);
      pass(400);
      const answers = [];
      for (let turn = 0; turn < 4; turn += 1) {
        answers.push((await provider.check?.(started.operation, await context()))?.status);
      }
      expect(answers).toEqual(['done', 'unknown', 'done', 'unknown']);
    }
  });

  it('with late success is unknown, and done only after the delay', async () => {
    const request = order();
    stopClock();
    const late = fault({ kind: 'late-success', delayMs: 500 });
    const provider = simulator({ faults: [late] });
    expect((await provider.start(request, await context())).status).toBe('unknown');
    expect((await provider.find?.(request.reference, await context()))?.status).toBe('running');
    pass(500);
    expect((await provider.find?.(request.reference, await context()))?.status).toBe('done');
  });

  it('makes a second submission of the same reference a second order, which tests can count', async () => {
    const request = order();
    await simulator().start(request, await context());
    await simulator().start(request, await context());
    expect(await openOrders(join(root, 'state')).submissions(request.reference)).toHaveLength(2);
  });
});

describe('faults', () => {
  const busy = [
    ['busy', 'concurrency'],
    ['overloaded', 'overloaded'],
    ['rate_limited', 'rate_limited'],
  ] as const;
  it.each(busy)('%s is reported as %s with its retry delay, and nothing is accepted', async (kind, reason) => {
    const request = order();
    const provider = simulator({ faults: [fault({ kind, retryAfterMs: 1_500 })] });
    expect(await provider.start(request, await context())).toEqual({
      status: 'busy',
      reason,
      retryAfterMs: 1_500,
    });
    expect(await provider.find?.(request.reference, await context())).toBeUndefined();
  });

  it('strike every third call exactly, across processes and per model', async () => {
    const change = { faults: [fault({ kind: 'busy', every: 3 })] };
    const replicas = [simulator(change), simulator(change)];
    const seen: string[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      seen.push((await replicas[turn % 2]?.start(order(), await context()))?.status ?? '');
    }
    expect(seen.map((status, index) => (status === 'busy' ? index + 1 : 0)).filter(Boolean)).toEqual([3, 6, 9, 12]);
    const other = await replicas[0]?.start(order({ upstreamModel: 'other' }), await context());
    expect(other?.status).toBe('done');
  });

  it('strike exactly six of sixty simultaneous calls when every tenth is struck', async () => {
    const provider = simulator({ faults: [fault({ kind: 'failed', every: 10 })] });
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, async () => provider.start(order(), await context())),
    );
    expect(outcomes.filter((outcome) => outcome.status === 'refused')).toHaveLength(6);
  });

  it('of kind `hang` send heartbeats, end with the delay or the abort, and are unknown', async () => {
    const delayed = simulator({ faults: [fault({ kind: 'hang', delayMs: 30 })] });
    const call = await context();
    expect((await delayed.start(order(), call)).status).toBe('unknown');
    expect(call.beats).toBeGreaterThan(0);
    const abort = new AbortController();
    const waiting = simulator({ faults: [fault({ kind: 'hang' })] }).start(order(), await context(abort.signal));
    setTimeout(() => abort.abort(), 30);
    expect((await waiting).status).toBe('unknown');
  });

  it('never throw or leave the set of outcomes, in any combination of stage, kind, outcome and latency', async () => {
    const statuses = new Set(['done', 'running', 'refused', 'busy', 'unknown']);
    for (const at of SIMULATOR_STAGES) {
      for (const kind of SIMULATOR_FAULTS) {
        for (const outcome of SIMULATOR_OUTCOMES) {
          const struck = fault({ at, kind, delayMs: 1 });
          const provider = simulator({ outcome, faults: [struck] });
          const request = order();
          const started = await provider.start(request, await context());
          expect(statuses).toContain(started.status);
          if (started.status !== 'running') continue;
          const checked = await provider.check?.(started.operation, await context());
          expect(statuses).toContain(checked?.status);
        }
      }
    }
  });
});

it('accepts a tone and refuses every spoiled output in the check before storing', async () => {
  const verified = async (change: Partial<SimulatorSettings>) => {
    const outcome = await simulator(change).start(order(), await context());
    if (outcome.status !== 'done') throw new Error(outcome.status);
    return verifyAudio(outcome.output.path);
  };
  expect(await verified({})).toMatchObject({ format: 'wav', contentType: 'audio/wav' });
  for (const outcome of ['garbage-output', 'empty-output', 'truncated-output'] as const) {
    expect(await verified({ outcome })).toBeUndefined();
  }
});

it('removes state older than two days', async () => {
  const orders = openOrders(join(root, 'state'));
  const old = { ...base(), acceptedAtMs: Date.UTC(2020, 0, 1) };
  await orders.accept(old);
  await orders.accept(base());
  expect(await readdir(join(root, 'state', 'orders'))).toEqual([new Date().toISOString().slice(0, 10)]);
});

function base() {
  const nowMs = Date.now();
  return {
    kind: 'voice-changer' as const,
    reference: 'r',
    model: 'm',
    acceptedAtMs: nowMs,
    readyAtMs: nowMs,
    seconds: 1,
    voice: 'v',
    seed: 0,
  };
}

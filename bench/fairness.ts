/**
 * Fairness and scaling of queued jobs. Measures the first job of a second account behind a burst of another, with 20
 * worker slots and with 20 places at the provider. Measures 200 jobs with two workers against one. The floor is the
 * ideal time, which is the latency of the service.
 */
import { freePorts } from '../dev/stack/freePorts.ts';
import { simulator } from '../test/harness/simulatedVoices.ts';
import { seriesValue } from '../test/infra/telemetry/seriesValue.ts';
import { type JobLoad, musicModel, openJobLoad } from './jobLoad.ts';
import { round } from './statistics.ts';
import { openWorld, type World } from './world.ts';

const EXECUTION_MS = 5_000;
const PLACES = 20;
const POLLS = { pollFirstMs: 500, pollLongestMs: 2_000 };
/** From order to output. */
const FIRST_LIMIT_MS = 10_000;
const MIN_SPEEDUP = 1.8;

const SLOTTED = { modelId: 'slotted-music', provider: 'slotted' };
const PLACED = { modelId: 'placed-music', provider: 'placed' };

const CONFIGURATION = {
  providers: {
    slotted: simulator({ synchronous: true, latencyMs: EXECUTION_MS }),
    placed: simulator({ synchronous: true, latencyMs: EXECUTION_MS, limits: { concurrent: PLACES } }),
  },
  models: [SLOTTED, PLACED].map(({ modelId, provider }) => musicModel(modelId, provider)),
};

export interface FairnessOptions {
  /** Number of jobs of the first account. */
  burst?: number;
  /** Number of jobs for one worker, and for two. */
  jobs?: number;
}

export async function benchmarkFairness({ burst = 1_000, jobs = 200 }: FairnessOptions = {}): Promise<{ ok: boolean }> {
  const slotted = await withJobLoad((world, load) => measureBehindBurst(world, load, { burst, model: SLOTTED }));
  const placed = await withJobLoad((world, load) => measureBehindBurst(world, load, { burst, model: PLACED }));
  const [one, two] = [await measureWithWorkers(1, jobs), await measureWithWorkers(2, jobs)];
  console.log(`fairness: the first job of a second account behind ${burst} of another, ${EXECUTION_MS} ms each`);
  console.table({
    [`${PLACES} slots`]: slotted,
    [`${PLACES} places at the provider`]: placed,
  });
  const idealMs = (workers: number) => Math.ceil(jobs / (PLACES * workers)) * EXECUTION_MS;
  console.log(`scaling: ${jobs} jobs of ${EXECUTION_MS} ms, ${PLACES} slots a worker`);
  console.table({
    '1 worker': { 'all done ms': round(one), 'ideal ms': idealMs(1) },
    '2 workers': { 'all done ms': round(two), 'ideal ms': idealMs(2) },
  });
  const speedup = one / two;
  console.log(`  two workers ÷ one (≥ ${MIN_SPEEDUP}): ${round(speedup)}`);
  const fair = [slotted, placed].every((figures) => figures['done after ms'] <= FIRST_LIMIT_MS);
  return { ok: fair && speedup >= MIN_SPEEDUP };
}

async function withJobLoad<T>(measure: (world: World, load: JobLoad) => Promise<T>): Promise<T> {
  const world = await openWorld(CONFIGURATION);
  const load = openJobLoad(world, POLLS);
  try {
    return await measure(world, load);
  } finally {
    await load.close();
    await world.close();
  }
}

interface Burst {
  burst: number;
  model: typeof SLOTTED;
}

async function measureBehindBurst(world: World, load: JobLoad, { burst, model }: Burst) {
  const [metricsPort = 0] = await freePorts(1);
  const slots = model === SLOTTED ? { FAREBOX_PROVIDER_SLOTS: String(PLACES) } : {};
  await world.start('worker', { ...slots, FAREBOX_METRICS_PORT: String(metricsPort) });
  const [greedy, second] = [await world.createPayer(), await world.createPayer()];
  await load.submit(greedy.accountId, burst, model);
  const asked = await readWaitCount(metricsPort);
  const startMs = performance.now();
  const jobs = await load.submit(second.accountId, 1, model);
  await load.untilStored(jobs, 120_000);
  const seconds = (performance.now() - startMs) / 1_000;
  return {
    'done after ms': round(await load.executionMs(jobs[0] ?? '')),
    'ideal ms': EXECUTION_MS,
    'asks of the line, per s': round(((await readWaitCount(metricsPort)) - asked) / seconds),
  };
}

/** Number of times that waiting jobs have asked for a place so far. */
async function readWaitCount(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const labels = { activity: 'generate', outcome: 'waiting' };
  return seriesValue(text, 'farebox_activity_duration_seconds_count', labels) ?? 0;
}

/** Jobs are queued before the workers start, so that the time of ordering is not measured. */
async function measureWithWorkers(workers: number, jobs: number): Promise<number> {
  return await withJobLoad(async (world, load) => {
    await world.start('worker', { FAREBOX_WORKER_QUEUES: 'jobs,media' });
    const { accountId } = await world.createPayer();
    const ordered = await load.submit(accountId, jobs, SLOTTED);
    const variables = { FAREBOX_WORKER_QUEUES: 'providers', FAREBOX_PROVIDER_SLOTS: String(PLACES) };
    await Promise.all(Array.from({ length: workers }, () => world.start('worker', variables)));
    await load.untilStored(ordered, 600_000);
    return await load.workedMs(ordered);
  });
}

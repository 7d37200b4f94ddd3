/**
 * Fairness and scaling of queued jobs: the first job of a second account behind a burst of another one, where the worker has
 * 20 slots and where the provider has 20 places; and 200 jobs with two workers instead of one. The floor is the ideal time,
 * which is what the service takes.
 */
import { freePorts } from '../dev/stack/freePorts.ts';
import { simulator } from '../test/harness/simulatedVoices.ts';
import { seriesValue } from '../test/infra/telemetry/seriesValue.ts';
import { type Crowd, musicModel, openCrowd } from './crowd.ts';
import { round } from './statistics.ts';
import { openWorld, type World } from './world.ts';

const EXECUTION_MS = 5_000;
const PLACES = 20;
const POLLS = { pollFirstMs: 500, pollLongestMs: 2_000 };
/** From its order to its output. */
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
  /** Jobs of the first account. */
  burst?: number;
  /** For one worker, and for two. */
  jobs?: number;
}

export async function run({ burst = 1_000, jobs = 200 }: FairnessOptions = {}): Promise<{ ok: boolean }> {
  const slotted = await withCrowd((world, crowd) => behindBurst(world, crowd, { burst, model: SLOTTED }));
  const placed = await withCrowd((world, crowd) => behindBurst(world, crowd, { burst, model: PLACED }));
  const [one, two] = [await withWorkers(1, jobs), await withWorkers(2, jobs)];
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

async function withCrowd<T>(measure: (world: World, crowd: Crowd) => Promise<T>): Promise<T> {
  const world = await openWorld(CONFIGURATION);
  const crowd = openCrowd(world, POLLS);
  try {
    return await measure(world, crowd);
  } finally {
    await crowd.close();
    await world.close();
  }
}

interface Burst {
  burst: number;
  model: typeof SLOTTED;
}

async function behindBurst(world: World, crowd: Crowd, { burst, model }: Burst) {
  const [metricsPort = 0] = await freePorts(1);
  const slots = model === SLOTTED ? { FAREBOX_PROVIDER_SLOTS: String(PLACES) } : {};
  await world.start('worker', { ...slots, FAREBOX_METRICS_PORT: String(metricsPort) });
  const [greedy, second] = [await world.createPayer(), await world.createPayer()];
  await crowd.order(greedy.accountId, burst, model);
  const asked = await waitsOf(metricsPort);
  const startMs = performance.now();
  const jobs = await crowd.order(second.accountId, 1, model);
  await crowd.untilStored(jobs, 120_000);
  const seconds = (performance.now() - startMs) / 1_000;
  return {
    'done after ms': round(await crowd.executionMs(jobs[0] ?? '')),
    'ideal ms': EXECUTION_MS,
    'asks of the line, per s': round(((await waitsOf(metricsPort)) - asked) / seconds),
  };
}

/** How often waiting jobs have asked for a place so far. */
async function waitsOf(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const labels = { activity: 'generate', outcome: 'waiting' };
  return seriesValue(text, 'farebox_activity_duration_seconds_count', labels) ?? 0;
}

/** The jobs are there before the workers: what is measured is the work, not the ordering. */
async function withWorkers(workers: number, jobs: number): Promise<number> {
  return await withCrowd(async (world, crowd) => {
    await world.start('worker', { FAREBOX_WORKER_QUEUES: 'jobs,media' });
    const { accountId } = await world.createPayer();
    const ordered = await crowd.order(accountId, jobs, SLOTTED);
    const variables = { FAREBOX_WORKER_QUEUES: 'providers', FAREBOX_PROVIDER_SLOTS: String(PLACES) };
    await Promise.all(Array.from({ length: workers }, () => world.start('worker', variables)));
    await crowd.untilStored(ordered, 600_000);
    return await crowd.workedMs(ordered);
  });
}

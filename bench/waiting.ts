/**
 * Memory of one worker process while a thousand jobs wait for a provider that takes a minute each and is polled,
 * against the idle process.
 */
import { simulator } from '../test/harness/simulatedVoices.ts';
import { musicModel, openJobLoad } from './jobLoad.ts';
import { peakDuring, residentMb } from './memory.ts';
import { reachesBars, round } from './statistics.ts';
import { openWorld } from './world.ts';

const LATENCY_MS = 60_000;
const MAX_MB = 300;
const MODEL = { modelId: 'slow-music', provider: 'slow' };
const CONFIGURATION = {
  providers: { slow: simulator({ latencyMs: LATENCY_MS }) },
  models: [musicModel(MODEL.modelId, MODEL.provider)],
};

export async function benchmarkWaiting({ jobs = 1_000 }: { jobs?: number } = {}): Promise<{ ok: boolean }> {
  const world = await openWorld(CONFIGURATION);
  const load = openJobLoad(world, { pollFirstMs: 2_000, pollLongestMs: 10_000 });
  try {
    const worker = await world.start('worker');
    const idleMb = residentMb(worker.pid);
    const { accountId } = await world.createPayer();
    const mostMb = await peakDuring(worker.pid, async () => {
      const ordered = await load.submit(accountId, jobs, MODEL);
      await load.untilStored(ordered, 600_000);
    });
    console.log(`waiting: ${jobs} jobs of ${LATENCY_MS} ms at a provider that is asked, one worker`);
    console.table({ worker: { 'idle MB': round(idleMb), 'most MB': round(mostMb) } });
    return { ok: reachesBars([['most MB', mostMb, '≤', MAX_MB]]) };
  } finally {
    await load.close();
    await world.close();
  }
}

/**
 * What one worker process needs while a thousand jobs are with a provider that works for a minute on each and is asked again
 * and again; against the same process before it has anything to do.
 */
import { simulator } from '../test/harness/simulatedVoices.ts';
import { musicModel, openCrowd } from './crowd.ts';
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

export async function run({ jobs = 1_000 }: { jobs?: number } = {}): Promise<{ ok: boolean }> {
  const world = await openWorld(CONFIGURATION);
  const crowd = openCrowd(world, { pollFirstMs: 2_000, pollLongestMs: 10_000 });
  try {
    const worker = await world.start('worker');
    const idleMb = residentMb(worker.pid);
    const { accountId } = await world.createPayer();
    const mostMb = await peakDuring(worker.pid, async () => {
      const ordered = await crowd.order(accountId, jobs, MODEL);
      await crowd.untilStored(ordered, 600_000);
    });
    console.log(`waiting: ${jobs} jobs of ${LATENCY_MS} ms at a provider that is asked, one worker`);
    console.table({ worker: { 'idle MB': round(idleMb), 'most MB': round(mostMb) } });
    return { ok: reachesBars([['most MB', mostMb, '≤', MAX_MB]]) };
  } finally {
    await crowd.close();
    await world.close();
  }
}

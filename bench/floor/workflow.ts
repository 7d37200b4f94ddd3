/** The floor of the jobs benchmark: a bare workflow that answers after its first activity and ends after its last. */
import { condition, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';
import type { FloorActivities, FloorInput } from './activities.ts';

const steps = (taskQueue: string) =>
  proxyActivities<FloorActivities>({ taskQueue, startToCloseTimeout: 60_000, retry: { maximumAttempts: 1 } });

export const floorAccepted = defineUpdate<number>('accepted');

export async function floor(input: FloorInput): Promise<void> {
  let measured: number | undefined;
  setHandler(floorAccepted, async () => {
    await condition(() => measured !== undefined);
    return measured ?? 0;
  });
  measured = await steps(input.queues.first).probe(input);
  await steps(input.queues.last).put(input);
}

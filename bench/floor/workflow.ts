/** Floor of the jobs benchmark: a workflow of three activities that answers at the same step as the product. */
import { condition, defineUpdate, proxyActivities, setHandler } from '@temporalio/workflow';
import type { FloorActivities, FloorInput } from './activities.ts';

const steps = (taskQueue: string) =>
  proxyActivities<FloorActivities>({ taskQueue, startToCloseTimeout: 60_000, retry: { maximumAttempts: 1 } });

export const floorAccepted = defineUpdate<number>('accepted');

export async function floor(input: FloorInput): Promise<void> {
  let answer: number | undefined;
  setHandler(floorAccepted, async () => {
    await condition(() => answer !== undefined);
    return answer ?? 0;
  });
  const seconds = await steps(input.queues.first).probe(input);
  await steps(input.queues.second).charge(input);
  answer = seconds;
  await steps(input.queues.last).put(input);
}

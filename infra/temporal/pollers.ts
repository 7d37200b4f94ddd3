/** Workers that poll a task queue, as the server reports them. */
import type { TaskQueue } from '../../domain/queues.ts';
import type { Temporal } from './connect.ts';

/** Type numbers of the server: every worker polls for activities, only some run workflows. */
const QUEUE_TYPES = { workflows: 1, activities: 2 };
const ANSWER_TIMEOUT_MS = 5_000;

/** A worker's identity is `pid@host`. */
export async function pollersOf(temporal: Temporal, queue: TaskQueue, type: keyof typeof QUEUE_TYPES) {
  const { pollers } = await temporal.within(ANSWER_TIMEOUT_MS, (client) =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: queue },
      taskQueueType: QUEUE_TYPES[type],
    }),
  );
  return pollers ?? [];
}

/** Time of the last poll of this queue by a worker on `host`; undefined when the server has none. */
export async function lastPollOf(
  temporal: Temporal,
  { queue, host }: { queue: TaskQueue; host: string },
): Promise<Date | undefined> {
  const pollers = await pollersOf(temporal, queue, 'activities');
  const here = pollers.filter(({ identity }) => identity?.endsWith(`@${host}`));
  const times = here.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1000);
  return times.length === 0 ? undefined : new Date(Math.max(...times));
}

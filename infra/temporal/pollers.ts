/** Who asks a task queue for work, as the server sees it. */
import type { TaskQueue } from '../../domain/queues.ts';
import type { Temporal } from './connect.ts';

/** The server's number for queues of activities: every worker asks those, only some run workflows. */
const ACTIVITY_QUEUE = 2;
const ANSWER_TIMEOUT_MS = 5_000;

/** When a worker on `host` last asked this queue for work; undefined when the server remembers none. */
export async function lastPollOf(
  temporal: Temporal,
  ask: { queue: TaskQueue; host: string },
): Promise<Date | undefined> {
  const { pollers } = await temporal.within(ANSWER_TIMEOUT_MS, (client) =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: ask.queue },
      taskQueueType: ACTIVITY_QUEUE,
    }),
  );
  // A worker's identity is `pid@host`.
  const here = (pollers ?? []).filter((poller) => poller.identity?.endsWith(`@${ask.host}`));
  const times = here.map((poller) => Number(poller.lastAccessTime?.seconds ?? 0) * 1000);
  return times.length === 0 ? undefined : new Date(Math.max(...times));
}

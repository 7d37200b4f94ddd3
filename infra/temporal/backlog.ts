/** Backlog of a task queue, as the server estimates it. */
import type { TaskQueue } from '../../domain/queues.ts';
import type { Temporal } from './connect.ts';

export interface Backlog {
  queue: TaskQueue;
  kind: 'workflow' | 'activity';
  count: number;
  /** Age of the oldest task; 0 when none waits. */
  ageSeconds: number;
}

/** Numbers of the two task types at the server. */
const KINDS = { workflow: 1, activity: 2 } as const;

/** Backlog of these queues; workflows run on `jobs` only. */
export async function backlogsOf(
  temporal: Temporal,
  queues: readonly TaskQueue[],
  timeoutMs: number,
): Promise<Backlog[]> {
  return await temporal.within(timeoutMs, (client) =>
    Promise.all(
      queues.flatMap((queue) => {
        const kinds = queue === 'jobs' ? (['workflow', 'activity'] as const) : (['activity'] as const);
        return kinds.map(async (kind): Promise<Backlog> => {
          const { stats } = await client.workflowService.describeTaskQueue({
            namespace: client.options.namespace,
            taskQueue: { name: queue },
            taskQueueType: KINDS[kind],
            reportStats: true,
          });
          const age = stats?.approximateBacklogAge;
          return {
            queue,
            kind,
            count: Number(stats?.approximateBacklogCount ?? 0),
            ageSeconds: Number(age?.seconds ?? 0) + (age?.nanos ?? 0) / 1e9,
          };
        });
      }),
    ),
  );
}

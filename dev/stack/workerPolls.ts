/** Whether a worker of this machine serves a task queue: what "ready" means for a process without a port. */
import { Connection } from '@temporalio/client';
import type { TaskQueue } from '../../domain/queues.ts';

export interface PollCheck {
  address: string;
  namespace: string;
  queue: TaskQueue;
  pid: number;
}

/** Throws while the process is not among those that the server has seen asking for work. */
export async function mustPoll(check: PollCheck): Promise<void> {
  const { address, namespace, queue, pid } = check;
  const connection = await Connection.connect({ address, connectTimeout: 5_000 });
  try {
    const { pollers } = await connection.withDeadline(Date.now() + 5_000, () =>
      connection.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name: queue },
        // TASK_QUEUE_TYPE_WORKFLOW
        taskQueueType: 1,
      }),
    );
    const found = pollers?.some(({ identity }) => identity?.startsWith(`${pid}@`));
    if (!found) throw new Error(`no worker of process ${pid} asks for work on "${queue}"`);
  } finally {
    await connection.close();
  }
}

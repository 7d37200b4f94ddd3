/** Short report of why a stack did not recover. A failed run has no other evidence. */
import { TASK_QUEUES } from '../../domain/queues.ts';
import type { Stack } from './stack.ts';
import type { StackTools } from './stackTools.ts';

const ASK_LIMIT_MS = 10_000;
const LOOKED_AT = 3;

/** Never throws. A check that fails reports its error. */
export async function diagnose(stack: Stack, tools: StackTools): Promise<string> {
  const findings = await Promise.all([
    about('readyz', async () => (await fetch(new URL('/readyz', stack.dev.baseUrl), limited())).text()),
    about('s3', async () => `${(await tools.storage.list('')).objects.length} objects`),
    about('postgres', () => busyBackends(tools)),
    ...TASK_QUEUES.map((queue) => about(`pollers of ${queue}`, () => pollersOf(tools, queue))),
    about('open workflows', () => openWorkflows(tools)),
  ]);
  return [...findings, `supervisor: ${stack.log().trim().split('\n').slice(-6).join(' | ')}`].join('\n');
}

function limited(): RequestInit {
  return { signal: AbortSignal.timeout(ASK_LIMIT_MS) };
}

async function about(name: string, look: () => Promise<string>): Promise<string> {
  try {
    return `${name}: ${await look()}`;
  } catch (error) {
    return `${name}: ${String(error)}`;
  }
}

async function busyBackends({ pool }: StackTools): Promise<string> {
  const { rows } = await pool.query<{ text: string }>(
    `select concat_ws(' ', application_name, state, wait_event_type, wait_event, left(query, 60)) as text
       from pg_stat_activity
      where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
  );
  return JSON.stringify(rows.map(({ text }) => text));
}

async function pollersOf({ temporal }: StackTools, name: string): Promise<string> {
  const kinds = [1, 2] as const;
  const found = await temporal.within(ASK_LIMIT_MS, (client) =>
    Promise.all(
      kinds.map((taskQueueType) =>
        client.workflowService.describeTaskQueue({
          namespace: client.options.namespace,
          taskQueue: { name },
          taskQueueType,
          reportStats: true,
        }),
      ),
    ),
  );
  return found
    .map(({ pollers, stats }) => {
      const seen = (pollers ?? []).map(({ identity, lastAccessTime }) => {
        const agoMs = Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1_000;
        return `${identity} ${Math.round(agoMs / 1_000)} s ago`;
      });
      return `[${seen.join(', ')}] waiting ${stats?.approximateBacklogCount ?? '?'}`;
    })
    .join('; ');
}

async function openWorkflows({ temporal }: StackTools): Promise<string> {
  return await temporal.within(ASK_LIMIT_MS, async (client) => {
    const query = 'ExecutionStatus = "Running"';
    const { count } = await client.workflow.count(query);
    const looked: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query })) {
      looked.push(`${workflowId} ${await stateOf(client.workflow.getHandle(workflowId))}`);
      if (looked.length === LOOKED_AT) break;
    }
    return `${count}; ${looked.join('; ')}`;
  });
}

async function stateOf(handle: ReturnType<StackTools['temporal']['client']['workflow']['getHandle']>) {
  const { raw } = await handle.describe();
  const steps = (raw.pendingActivities ?? []).map(({ activityType, state, attempt, lastFailure }) =>
    [activityType?.name, state, `attempt ${attempt}`, lastFailure?.message].join(' '),
  );
  const task = raw.pendingWorkflowTask;
  return JSON.stringify({ steps, task: task ? `state ${task.state} attempt ${task.attempt}` : 'none' });
}

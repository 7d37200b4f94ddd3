/** Worker process of the floor, with the slots and queues of the product. */
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { TASK_QUEUES } from '../../domain/queues.ts';
import { workFolders } from '../../engines/child/workFolders.ts';
import { loadConfig } from '../../infra/config/config.ts';
import { openStorage } from '../../infra/s3/storage.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { MAX_CACHED_WORKFLOWS, MAX_WORKFLOW_TASKS, planOf } from '../../workers/queues.ts';
import { floorActivities } from './activities.ts';

const config = loadConfig(PROVIDERS);
const { ffmpegPath, ffprobePath } = config;
const tools = { ffmpegPath, ffprobePath, workFolder: workFolders(config.dataFolder).root };
const activities = floorActivities(tools, openStorage(config.s3));
const connection = await NativeConnection.connect({ address: config.temporal.address });
const workflowBundle = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('./workflow.js', import.meta.url)),
});
const workers = await Promise.all(
  TASK_QUEUES.map((taskQueue) =>
    Worker.create({
      connection,
      namespace: config.temporal.namespace,
      taskQueue,
      activities,
      maxConcurrentActivityTaskExecutions: planOf(taskQueue).slots,
      ...(planOf(taskQueue).runsWorkflows
        ? {
            workflowBundle,
            maxConcurrentWorkflowTaskExecutions: MAX_WORKFLOW_TASKS,
            maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
          }
        : {}),
    }),
  ),
);
console.log('worker ready');
await Promise.all(workers.map((worker) => worker.run()));
process.exit();

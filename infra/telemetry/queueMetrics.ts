/** Number and age of waiting tasks in Temporal's task queues: the metrics by which workers are scaled. */
import { Gauge, type Registry } from 'prom-client';
import { TASK_QUEUES } from '../../domain/queues.ts';
import { backlogsOf } from '../temporal/backlog.ts';
import type { Temporal } from '../temporal/connect.ts';
import { createGaugeProbe } from './createGaugeProbe.ts';

const ASK_EVERY_MS = 5_000;
const ASK_LIMIT_MS = 1_500;

export function registerQueueMetrics(registry: Registry, temporal: Temporal): void {
  const settings = {
    labelNames: ['queue', 'kind'] as const,
    registers: [registry],
    collect: () => refresh(),
  };
  const tasks = new Gauge({
    name: 'farebox_queue_backlog_tasks',
    help: 'Tasks that wait for a worker, as the server estimates them',
    ...settings,
  });
  const age = new Gauge({
    name: 'farebox_queue_backlog_age_seconds',
    help: 'How long the oldest waiting task has waited; 0 when none waits',
    ...settings,
  });
  const hide = () => {
    tasks.reset();
    age.reset();
  };
  const refresh = createGaugeProbe({
    everyMs: ASK_EVERY_MS,
    deadlineMs: ASK_LIMIT_MS,
    ask: () => backlogsOf(temporal, TASK_QUEUES, ASK_LIMIT_MS),
    show: (backlogs) => {
      hide();
      for (const { queue, kind, count, ageSeconds } of backlogs) {
        tasks.set({ queue, kind }, count);
        age.set({ queue, kind }, ageSeconds);
      }
    },
    hide,
  });
}

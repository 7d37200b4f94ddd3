/** Task queues with their concurrency. Every figure is set on purpose: the SDK's defaults are for development. */
import { availableParallelism } from 'node:os';
import type { Activities } from '../activities/createActivities.ts';
import type { TaskQueue } from '../domain/queues.ts';

export interface QueuePlan {
  activities: (keyof Activities)[];
  /** Activities that this process runs concurrently. */
  slots: number;
  runsWorkflows: boolean;
}

const PROVIDER_STEPS: (keyof Activities)[] = ['generate', 'awaitOutcome'];
const CHAIN_STEPS: (keyof Activities)[] = ['settleTopUp', 'watchTopUp', 'examineTopUp'];

/** `slots`: set by the operator; the default suits most. */
export function planOf(queue: TaskQueue, slots?: number): QueuePlan {
  const plan = usualPlan(queue);
  if (slots === undefined) return plan;
  return { ...plan, slots: queue === 'media' ? mediaSlots(slots) : slots };
}

/**
 * Steps of the queue `media` that fetch and decode at a time. One account may have half of them, which keeps all cores
 * busy: one more than there are cores, for the time in which one of them fetches.
 */
export function mediaStepsAtOnce(configured?: number): number {
  return configured ?? 2 * (availableParallelism() + 1);
}

/**
 * Steps that wait in the process for each running one: Temporal's retries come too late to keep cores busy (bench
 * `jobs`).
 */
export const MEDIA_WAITING = 4;

function mediaSlots(configured?: number): number {
  return (1 + MEDIA_WAITING) * mediaStepsAtOnce(configured);
}

function usualPlan(queue: TaskQueue): QueuePlan {
  switch (queue) {
    case 'jobs':
      return {
        activities: [
          ...(['acceptJob', 'discardSource', 'endJob', 'abandonJob', 'removeMedia', 'performDuty'] as const),
          ...(['recordTopUp', 'concludeTopUp'] as const),
        ],
        slots: 50,
        runsWorkflows: true,
      };
    case 'media':
      return {
        activities: ['measureSource', ...PROVIDER_STEPS],
        slots: mediaSlots(),
        runsWorkflows: false,
      };
    case 'providers':
      // Runs chain steps that an earlier version scheduled here.
      return { activities: [...PROVIDER_STEPS, ...CHAIN_STEPS], slots: 200, runsWorkflows: false };
    case 'payments':
      return { activities: CHAIN_STEPS, slots: 200, runsWorkflows: false };
    case 'webhooks':
      // Each waits ten seconds at most and holds a socket: many silent receivers must not keep out the others.
      return { activities: ['deliverWebhook'], slots: 200, runsWorkflows: false };
  }
}

/** Cached workflows per process: a job that waits for the end of its retention is replayed (bench `waiting`). */
export const MAX_CACHED_WORKFLOWS = 100;
/** A dead process cannot resume its cached workflows: after this time they go to any other. */
export const STICKY_LIMIT_MS = 3_000;
export const MAX_WORKFLOW_TASKS = 40;
export const MAX_LOCAL_ACTIVITIES = 50;

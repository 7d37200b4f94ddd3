/**
 * Task queues by resource: `jobs` decides and moves money, `media` uses CPU, `providers` waits for networks, `payments`
 * queries chain nodes, `webhooks` waits for receivers. A slow receiver therefore delays no other work.
 */
export const TASK_QUEUES = ['jobs', 'media', 'providers', 'payments', 'webhooks'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

/** A process that serves only `media` decodes foreign bytes: it needs no provider or payment keys, and gets none. */
export function servesMediaOnly(queues: readonly TaskQueue[]): boolean {
  return queues.every((queue) => queue === 'media');
}

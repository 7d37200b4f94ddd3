/**
 * Task queues by resource: `jobs` decides and moves money, `media` burns cores, `providers` waits on networks, `payments`
 * asks the nodes of chains, `webhooks` waits for receivers, who may be slow for as long as they like without anybody
 * else's work standing behind theirs.
 */
export const TASK_QUEUES = ['jobs', 'media', 'providers', 'payments', 'webhooks'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

/** A process that serves `media` alone decodes foreign bytes: it needs no key of a provider or of a payer, and gets none. */
export function servesMediaOnly(queues: readonly TaskQueue[]): boolean {
  return queues.every((queue) => queue === 'media');
}

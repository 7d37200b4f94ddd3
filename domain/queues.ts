/**
 * Task queues by resource: `jobs` decides and moves money, `media` burns cores, `providers` waits on networks, `webhooks`
 * waits for receivers, who may be slow for as long as they like without anybody else's work standing behind theirs.
 */
export const TASK_QUEUES = ['jobs', 'media', 'providers', 'webhooks'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

/** Task queues by resource: `jobs` decides and moves money, `media` burns cores, `providers` waits on networks. */
export const TASK_QUEUES = ['jobs', 'media', 'providers'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

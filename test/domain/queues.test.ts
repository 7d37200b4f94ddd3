import { expect, it } from 'vitest';
import { servesMediaOnly, TASK_QUEUES, type TaskQueue } from '../../domain/queues.ts';

it.each<[TaskQueue[], boolean]>([
  [['media'], true],
  [['media', 'media'], true],
  [['jobs'], false],
  [['media', 'jobs'], false],
  [['providers', 'media'], false],
  [['payments'], false],
  [['webhooks', 'media'], false],
  [[...TASK_QUEUES], false],
])('a process with the queues %j serves media only, and gets no key: %s', (queues, isAlone) => {
  expect(servesMediaOnly(queues)).toBe(isAlone);
});

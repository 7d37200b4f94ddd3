/** How the job routes describe themselves. */
import { z } from 'zod';
import { AN_ORDERED_JOB, answersWith, type RouteDescription } from '../describe.ts';
import { jobAnswer, jobListAnswer, jobWithTimelineAnswer } from './answers.ts';

const params = z.object({ queue_id: z.string().meta({ description: 'As the queue route answered it.' }) });

export const JOB_DESCRIPTIONS: Record<'list' | 'show' | 'cancel', RouteDescription> = {
  list: {
    group: 'Jobs',
    operationId: 'listJobs',
    summary: 'The jobs of the account, newest first',
    answers: answersWith(jobListAnswer),
    example: { query: { limit: '10' } },
  },
  show: {
    group: 'Jobs',
    operationId: 'showJob',
    summary: 'One job, with everything that happened to it',
    params,
    answers: answersWith(jobWithTimelineAnswer),
    errors: ['media_not_found'],
    example: { before: AN_ORDERED_JOB, params: { queue_id: '$QUEUE_ID' } },
  },
  cancel: {
    group: 'Jobs',
    operationId: 'cancelJob',
    summary: 'Stop a job and take its price back',
    description: 'Until its output is stored; afterwards, and when it is too late, 409.',
    params,
    answers: answersWith(jobAnswer, 'Cancelled and refunded.'),
    errors: ['media_not_found', 'conflict'],
    example: { before: AN_ORDERED_JOB, params: { queue_id: '$QUEUE_ID' } },
  },
};

/** Descriptions of the job routes. */
import { z } from 'zod';
import { AN_ORDERED_JOB, answersWith, type RouteDescription } from '../http/describe.ts';
import { WATCHES_PER_ACCOUNT } from '../queue/jobWatch.ts';
import { jobAnswer, jobListAnswer, jobWithTimelineAnswer } from './schema.ts';

const params = z.object({ queue_id: z.string().meta({ description: 'As the queue route answered it.' }) });

const EVENTS = `Server-sent events, first those of the past, then the others within moments of their commit:

- \`state\`: the job is now \`accepted\`, \`submitted\`, \`stored\`, \`failed\`, …
- \`progress\`: percent, where the provider tells it
- \`timeline\`: \`measured\`, \`charged\`, \`submitted\`, \`acknowledged\`, \`stored\`, \`refunded\`, …, as in \`GET /jobs/{queue_id}\`,
  with the ledger id and the amounts of a charge or refund
- \`end\`: the job is over for the client: its media can be fetched, or it failed and was refunded

The \`data\` of each is JSON with \`queue_id\`, and \`state\` and \`progress\` as they were by then. A client that comes back with
\`Last-Event-ID\` gets what follows, nothing twice and nothing left out; after \`end\` that is 204. A comment comes every 15
seconds. A stream lasts an hour at most, and ends early, with \`retry\`, when its process is stopped. ${WATCHES_PER_ACCOUNT} may be open
at once for one account, fewer while a process has many.`;

export const JOB_DESCRIPTIONS: Record<'list' | 'show' | 'events' | 'cancel', RouteDescription> = {
  list: {
    group: 'Jobs',
    operationId: 'listJobs',
    summary: 'The jobs of the caller, newest first',
    description:
      'ADMIN keys and wallets see those of their account, other keys their own and those of their children; the same holds ' +
      'for every route that names a job. By kind, model, state and time, in both orders. A cursor goes on with the filters of the page before: with others it ' +
      'is refused.',
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
  events: {
    group: 'Jobs',
    operationId: 'watchJob',
    summary: 'What happened to a job and what happens, as it happens',
    description: EVENTS,
    params,
    answers: {
      200: { means: 'Events until the job is over.', bodies: [{ mediaType: 'text/event-stream' }] },
      204: { means: 'The client has everything, the end included: nothing more will come.', bodies: [] },
    },
    errors: ['request_id_invalid', 'invalid_request'],
    example: { before: AN_ORDERED_JOB, params: { queue_id: '$QUEUE_ID' } },
  },
  cancel: {
    group: 'Jobs',
    operationId: 'cancelJob',
    summary: 'Stop a job and take its price back',
    description:
      'Until its output is stored; afterwards, and when it is too late, 409. A job whose provider was asked for it and cannot ' +
      'be stopped counts into the refunds of the day (`limits.refundedPerDay`, USD by list price, UTC): beyond them 409, the ' +
      'job goes on and its charge stands.',
    params,
    answers: answersWith(jobAnswer, 'Cancelled and refunded.'),
    errors: ['media_not_found', 'conflict'],
    example: { before: AN_ORDERED_JOB, params: { queue_id: '$QUEUE_ID' } },
  },
};

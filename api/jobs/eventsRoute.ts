/** GET /jobs/{queue_id}/events: past and future changes of a job as server-sent events. */
import { readChanges } from '../../infra/postgres/jobChanges.ts';
import { isKeyActive } from '../../infra/postgres/keys.ts';
import { events, preparedAnswer } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { findOwnJob } from '../queue/findOwnJob.ts';
import { readCursor, refuseEventId } from './eventCursor.ts';
import { appendChanges, createEventState, isEnded } from './jobEventState.ts';
import { JOB_DESCRIPTIONS } from './openapi.ts';
import { streamJobEvents } from './streamJobEvents.ts';

export const jobEventsRoute = defineRoute({
  method: 'GET',
  path: '/jobs/{queue_id}/events',
  access: 'caller',
  requestLimit: 'jobs',
  describes: JOB_DESCRIPTIONS.events,
  async handler({ core: { sql }, jobs: { jobWatch } }, { caller, params, headers, signal, stopping, log }) {
    const { queueId } = await findOwnJob(sql, caller, params.queue_id ?? '');
    const cursor = readCursor(headers['last-event-id']);
    const read = (after: number) => readChanges(sql, { queueId, after });
    const { accountId, keyId } = caller;
    const isKeyValid = async () => keyId === null || (await isKeyActive(sql, keyId));
    const watch = jobWatch.watch({ queueId, accountId });
    try {
      const eventState = createEventState(queueId);
      const firstEvents = appendChanges(eventState, await read(0), cursor.seq);
      if (cursor.seq > eventState.seq || (cursor.ended && !isEnded(eventState))) refuseEventId();
      if (!cursor.ended) {
        const stream = { watch, eventState, firstEvents, read, isKeyValid, signal, stopping, log };
        return events((take) => streamJobEvents(stream, take));
      }
    } catch (error) {
      watch.close();
      throw error;
    }
    watch.close();
    // Status that tells server-sent event clients not to reconnect.
    return preparedAnswer(undefined, { status: 204 });
  },
});

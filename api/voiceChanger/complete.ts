/** POST /audio/voice-changer/complete: the client is done with the media. Safe to repeat; `success: false` means ask again. */
import { isFinal } from '../../domain/jobs.ts';
import { point } from '../../infra/points.ts';
import { recordEvents } from '../../infra/postgres/jobEvents.ts';
import { releaseMedia } from '../../infra/postgres/jobs.ts';
import { json } from '../answer.ts';
import { findJobOf } from '../findOwnJob.ts';
import { voiceChangerOfJob } from '../models.ts';
import { completeGeneration } from '../queued.ts';
import { defineRoute } from '../route.ts';
import { VOICE_CHANGER_DESCRIPTIONS } from './descriptions.ts';
import { SMALL_JSON_BYTES } from './quote.ts';
import { completeBody } from './shapes.ts';

export const completeRoute = defineRoute({
  method: 'POST',
  path: '/audio/voice-changer/complete',
  access: 'key',
  body: { json: { schema: completeBody, maxBytes: SMALL_JSON_BYTES }, needsModel: true, modelType: 'music' },
  describes: VOICE_CHANGER_DESCRIPTIONS.complete,
  async handler({ config, sql, temporal, log }, { body, caller }) {
    const { modelId, headers } = voiceChangerOfJob(config, body.model);
    const named = { queueId: body.queue_id, modelId, kind: 'voice-changer' } as const;
    const job = await findJobOf(sql, caller, named);
    if (isFinal(job.state)) return json({ success: true }, { headers });
    try {
      const completed = await completeGeneration(temporal, job.queueId, { stored: job.state === 'stored' });
      await recordEvents(sql, job.queueId, [{ event: 'completed' }]);
      if (!completed) await releaseMedia(sql, job.queueId);
      await point('complete-answer');
      return json({ success: completed?.outcome === 'deleted' }, { headers });
    } catch (error) {
      log.warn({ err: error, queueId: job.queueId }, 'the media could not be deleted now');
      return json({ success: false }, { headers });
    }
  },
});

/** POST /audio/voice-changer/retrieve: progress as JSON, the recording as bytes, or the stored verdict of a failed job. */
import { withHeaders } from '../answer.ts';
import { deliver } from '../deliver.ts';
import { findJobOf } from '../findOwnJob.ts';
import { voiceChangerOfJob } from '../models.ts';
import { defineRoute } from '../route.ts';
import { VOICE_CHANGER_DESCRIPTIONS } from './descriptions.ts';
import { SMALL_JSON_BYTES } from './quote.ts';
import { retrieveBody } from './shapes.ts';

export const retrieveRoute = defineRoute({
  method: 'POST',
  path: '/audio/voice-changer/retrieve',
  access: 'key',
  body: { json: { schema: retrieveBody, maxBytes: SMALL_JSON_BYTES }, needsModel: true, modelType: 'music' },
  describes: VOICE_CHANGER_DESCRIPTIONS.retrieve,
  async handler(dependencies, { body, caller, headers }) {
    const { modelId, model, headers: notice } = voiceChangerOfJob(dependencies.config, body.model);
    const named = { queueId: body.queue_id, modelId, kind: 'voice-changer' } as const;
    const job = await findJobOf(dependencies.sql, caller, named);
    const answer = await deliver(dependencies, {
      job,
      model,
      rangeHeader: headers.range,
      deleteAfterwards: body.delete_media_on_completion,
    });
    return withHeaders(answer, notice);
  },
});

/** Routes that all kinds of queued media share: retrieve the result of a job, and complete it. */
import type { JobKind } from '../../domain/jobs.ts';
import { isFinal } from '../../domain/jobs.ts';
import { failpoint } from '../../infra/failpoints.ts';
import { recordEvents } from '../../infra/postgres/jobEvents.ts';
import { type JobRow, releaseMedia } from '../../infra/postgres/jobs.ts';
import type { Dependencies } from '../dependencies.ts';
import { json, withHeaders } from '../http/answer.ts';
import type { RouteDescription } from '../http/describe.ts';
import { DEFAULT_DEADLINE_MS, defineRoute, type Route } from '../http/route.ts';
import { isDownloadOnly, MODEL_OF_JOB, modelOfJob } from '../models.ts';
import { awaitOutcome, MAX_WAIT_MS } from './awaitOutcome.ts';
import { deliverJob, statusOf } from './deliverJob.ts';
import { findJobOf } from './findOwnJob.ts';
import { completeGeneration } from './generationClient.ts';
import { completeBody, retrieveBody, SMALL_JSON_BYTES } from './jobBodies.ts';

interface JobRoute {
  kind: JobKind;
  path: string;
  describes: RouteDescription;
}

/** Answers with progress as JSON, the media as bytes, or the stored failure. A client can wait for the end. */
export function defineRetrieveRoute({ kind, path, describes }: JobRoute): Route {
  return defineRoute({
    method: 'POST',
    path,
    access: 'caller',
    requestLimit: 'jobs',
    body: {
      json: { schema: retrieveBody, maxBytes: SMALL_JSON_BYTES },
      needsModel: true,
      modelType: MODEL_OF_JOB[kind].type,
    },
    deadlineMs: DEFAULT_DEADLINE_MS + MAX_WAIT_MS,
    describes,
    async handler(dependencies, request) {
      const { body, caller, headers } = request;
      const { modelId, model, headers: notice } = modelOfJob(dependencies.core.config, body.model, kind);
      const found = await findJobOf(dependencies.core.sql, caller, { queueId: body.queue_id, modelId, kind });
      const awaited = await awaitOutcome(dependencies, request, found.queueId);
      const job = awaited?.job ?? found;
      const isElsewhere = model !== undefined && isDownloadOnly(model) && job.state === 'stored';
      const delivery = {
        job,
        model,
        rangeHeader: headers.range,
        deleteAfterwards: body.delete_media_on_completion,
      };
      const answer = isElsewhere
        ? await statusOf(dependencies, delivery, 'COMPLETED')
        : await deliverJob(dependencies, delivery);
      return withHeaders(answer, { ...notice, ...awaited?.headers });
    },
  });
}

/** Deletes the media of a job. Idempotent; `success: false` means ask again. */
export function defineCompleteRoute({ kind, path, describes }: JobRoute): Route {
  return defineRoute({
    method: 'POST',
    path,
    access: 'caller',
    requestLimit: 'jobs',
    body: {
      json: { schema: completeBody, maxBytes: SMALL_JSON_BYTES },
      needsModel: true,
      modelType: MODEL_OF_JOB[kind].type,
    },
    describes,
    async handler(dependencies, { body, caller }) {
      const { config, sql, log } = dependencies.core;
      const { modelId, headers } = modelOfJob(config, body.model, kind);
      const job = await findJobOf(sql, caller, { queueId: body.queue_id, modelId, kind });
      if (isFinal(job.state)) return json({ success: true }, { headers });
      try {
        const success = await discardJob(dependencies, job);
        await failpoint('complete-answer');
        return json({ success }, { headers });
      } catch (error) {
        log.warn({ err: error, queueId: job.queueId }, 'the media could not be deleted now');
        return json({ success: false }, { headers });
      }
    },
  });
}

/** Ends an unfinished job that its client no longer wants. False: it is not deleted yet. */
export async function discardJob(
  { core: { sql }, jobs: { temporal } }: Pick<Dependencies, 'core' | 'jobs'>,
  { queueId, state }: JobRow,
): Promise<boolean> {
  const completed = await completeGeneration(temporal, queueId, { stored: state === 'stored' });
  await recordEvents(sql, queueId, [{ event: 'completed' }]);
  if (!completed) await releaseMedia(sql, queueId);
  return completed?.outcome === 'deleted';
}

/** GET and DELETE of a `download_url` (VIDEO-8): no credential, no listing, and 404 for every unknown one. */
import { FareboxError } from '../../domain/errors.ts';
import { isFinal } from '../../domain/jobs.ts';
import { type JobRow, readJob } from '../../infra/postgres/jobs.ts';
import type { Dependencies } from '../dependencies.ts';
import { preparedAnswer } from '../http/answer.ts';
import { defineRoute } from '../http/route.ts';
import { hasDownloadUrl } from '../models.ts';
import { deliverJob } from '../queue/deliverJob.ts';
import { discardJob } from '../queue/jobRoutes.ts';
import { DOWNLOAD_PATH, queueIdOfToken } from './downloadToken.ts';
import { VIDEO_DESCRIPTIONS } from './openapi.ts';

/** Independent of the retention of other media. */
const LINK_LIFE_MS = 24 * 3_600_000;

export const downloadRoute = defineRoute({
  method: 'GET',
  path: DOWNLOAD_PATH,
  access: 'open',
  describes: VIDEO_DESCRIPTIONS.download,
  async handler(dependencies, { params, headers }) {
    const job = await linkedJob(dependencies, params.token ?? '');
    if (job.state !== 'stored') throw notThere();
    return await deliverJob(dependencies, {
      job,
      model: dependencies.core.config.modelCatalogue.byId.get(job.modelId),
      rangeHeader: headers.range,
      deleteAfterwards: false,
    });
  },
});

export const deleteDownloadRoute = defineRoute({
  method: 'DELETE',
  path: DOWNLOAD_PATH,
  access: 'open',
  describes: VIDEO_DESCRIPTIONS.deleteDownload,
  async handler(dependencies, { params }) {
    const job = await linkedJob(dependencies, params.token ?? '');
    if (isFinal(job.state)) throw notThere();
    if (await discardJob(dependencies, job)) return preparedAnswer(undefined, { status: 204 });
    const message = 'The media could not be deleted yet; please try again.';
    throw new FareboxError({ code: 'unavailable', message, retryAfterSeconds: 1 });
  },
});

async function linkedJob({ core: { sql, config } }: Dependencies, token: string): Promise<JobRow> {
  const queueId = await queueIdOfToken(sql, token);
  const job = queueId === undefined ? undefined : await readJob(sql, queueId);
  const model = job && config.modelCatalogue.byId.get(job.modelId);
  if (!job || !model || !hasDownloadUrl(model)) throw notThere();
  if (job.createdAt.getTime() + LINK_LIFE_MS < Date.now()) throw notThere();
  return job;
}

function notThere(): FareboxError {
  return new FareboxError({ code: 'media_not_found', message: 'There is no such download.' });
}

/**
 * Answers a retrieve with the progress of the job, its media, or its failure. Reads one row and does not query
 * Temporal.
 */
import type { Model } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import { isRunning } from '../../domain/jobs.ts';
import { failpoint } from '../../infra/failpoints.ts';
import { recordEvents } from '../../infra/postgres/jobEvents.ts';
import type { JobRow } from '../../infra/postgres/jobs.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Answer, binary, json } from '../http/answer.ts';
import { parseRange } from '../http/byteRange.ts';
import { headerText } from '../http/headerText.ts';
import { completeGeneration } from './generationClient.ts';
import { jobFailureAnswer } from './jobFailureAnswer.ts';

export interface JobDelivery {
  job: JobRow;
  /** Undefined when the model has left the catalogue since. */
  model: Model | undefined;
  rangeHeader: string | undefined;
  /** Whether to delete the media after the last byte. */
  deleteAfterwards: boolean;
}

export async function deliverJob(dependencies: Dependencies, delivery: JobDelivery): Promise<Answer> {
  const { job } = delivery;
  if (isRunning(job.state)) {
    return await statusOf(dependencies, delivery, 'PROCESSING');
  }
  if (job.state === 'stored') {
    const leaving = dependencies.jobs.departures.get(job.queueId);
    if (leaving && (await leaving)) throw gone();
    return await media(dependencies, delivery);
  }
  if (job.state === 'deleted' || job.state === 'expired') throw gone();
  return jobFailureAnswer(dependencies.core.config, job);
}

/** Elapsed and usual duration of the job. */
export async function statusOf(
  { jobs }: Pick<Dependencies, 'jobs'>,
  { job, model }: Pick<JobDelivery, 'job' | 'model'>,
  status: 'PROCESSING' | 'COMPLETED',
): Promise<Answer> {
  return json({
    status,
    average_execution_time: (await jobs.averageTimes(job.modelId)) ?? usualMs(model),
    execution_duration: job.elapsedMs,
  });
}

/** Used until there are measured executions. */
const DEFAULT_MS = { music: 20_000, video: 90_000 } as const;

function usualMs(model: Model | undefined): number {
  if (model?.kind === 'voice-changer') return model.defaultExecutionMs;
  return model?.kind === 'music' || model?.kind === 'video' ? DEFAULT_MS[model.kind] : 0;
}

function gone(): FareboxError {
  return new FareboxError({
    code: 'media_not_found',
    message: 'The media of this job is no longer available.',
  });
}

async function media(dependencies: Dependencies, delivery: JobDelivery): Promise<Answer> {
  const { job } = delivery;
  const sizeBytes = job.outputBytes ?? 0;
  const range = parseRange(delivery.rangeHeader, sizeBytes);
  const headers = mediaHeaders(delivery);
  if (range.kind === 'unsatisfiable') {
    const body = { error: 'The requested range is not satisfiable.' };
    return json(body, { status: 416, headers: { 'Content-Range': `bytes */${sizeBytes}` } });
  }
  const part = range.kind === 'part' ? { start: range.start, end: range.end } : undefined;
  const stream = await dependencies.jobs.storage.get(job.outputKey ?? '', part);
  // The object was deleted after the row was read: the row will say so in a moment.
  if (!stream) throw gone();
  const last = part ? part.end : sizeBytes - 1;
  return binary(
    {
      stream,
      contentType: job.outputContentType ?? 'application/octet-stream',
      sizeBytes: part ? part.end - part.start + 1 : sizeBytes,
      onDelivered: (isReceived) => delivered(dependencies, delivery, { isReceived, toTheEnd: last === sizeBytes - 1 }),
    },
    part
      ? {
          status: 206,
          headers: { ...headers, 'Content-Range': `bytes ${part.start}-${part.end}/${sizeBytes}` },
        }
      : { headers },
  );
}

function mediaHeaders({ job, model }: JobDelivery): Record<string, string> {
  return {
    'Accept-Ranges': 'bytes',
    ETag: `"${job.outputSha256 ?? ''}"`,
    'Cache-Control': 'private, no-store',
    ...formatHeaders(job),
    'x-service-inference-time': (job.elapsedMs / 1000).toFixed(3),
    'x-service-model-id': job.modelId,
    ...(model ? { 'x-service-model-name': headerText(model.name) } : {}),
  };
}

/** Headers that state the format of audio; a video file states it itself. */
function formatHeaders({ kind, outputContentType, outputSeconds }: JobRow): Record<string, string> {
  if (kind === 'video') return {};
  const format = { 'x-service-audio-format': formatOf(outputContentType ?? '') };
  return outputSeconds === null ? format : { ...format, 'x-service-audio-duration': outputSeconds.toFixed(3) };
}

/** Name of a format as models use it: `mp3` for `audio/mpeg`, otherwise the subtype. */
function formatOf(contentType: string): string {
  const subtype = contentType.replace(/^audio\//, '');
  return subtype === 'mpeg' ? 'mp3' : subtype;
}

interface SentOutput {
  isReceived(): Promise<boolean>;
  /** The part that was sent includes the last byte. */
  toTheEnd: boolean;
}

/**
 * After the last byte: records the delivery in the timeline, and deletes the media if the client asked for that and has
 * it.
 */
async function delivered(dependencies: Dependencies, delivery: JobDelivery, how: SentOutput): Promise<void> {
  const { queueId } = delivery.job;
  const goes = delivery.deleteAfterwards && how.toTheEnd;
  const departure = goes ? depart(dependencies, queueId, how) : undefined;
  await failpoint('delivered');
  await recordEvents(dependencies.core.sql, queueId, [{ event: 'delivered' }]);
  await departure;
}

async function depart({ jobs }: Dependencies, queueId: string, how: SentOutput): Promise<void> {
  const { departures, temporal } = jobs;
  const departure = how.isReceived().then(async (received) => {
    if (received) await completeGeneration(temporal, queueId, { stored: true });
    return received;
  });
  // A failed attempt means that the media stays.
  departures.set(
    queueId,
    departure.catch(() => false),
  );
  try {
    await departure;
  } finally {
    departures.delete(queueId);
  }
}

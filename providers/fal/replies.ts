/**
 * Reads the replies of fal's queue and models, and requires only the fields in use. Models differ in field names, not
 * in meaning. Sources: its OpenAPI description of the queue
 * (fal.ai/docs/api-reference/inference-api/openapi/queue.json) and the types of its own client (fal-ai/fal-js).
 */
import { z } from 'zod';
import type { WholeReply } from '../../infra/http/serviceHttp.ts';
import { garbageFailure, parseJson } from '../shared/textFailures.ts';

const requestId = z.string().regex(/^[A-Za-z0-9_-]{1,100}$/);

const submitted = z.object({ request_id: requestId });

const logLine = z.object({ message: z.string() }).catch({ message: '' });
const status = z.object({
  /** Unknown values count as running. */
  status: z.string(),
  request_id: requestId.optional(),
  logs: z.array(logLine).nullish().catch(undefined),
});

const file = z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)]);
const named = z
  .union([file, z.array(file).transform((all) => all[0])])
  .optional()
  .catch(undefined);
const output = z.object({
  audio: named,
  audio_file: named,
  audio_url: named,
  audios: named,
  video: named,
  video_url: named,
  videos: named,
});

export interface QueueStatus {
  completed: boolean;
  requestId: string | undefined;
  percent: number | undefined;
}

/** Id of the accepted order; undefined if the reply has none. */
export function readSubmitted({ body }: WholeReply): string | undefined {
  return submitted.safeParse(parseJson(body)).data?.request_id;
}

export function readStatus({ body }: WholeReply): QueueStatus | undefined {
  const found = status.safeParse(parseJson(body)).data;
  if (found === undefined) return undefined;
  return {
    completed: found.status === 'COMPLETED',
    requestId: found.request_id,
    percent: percentOf(found.logs ?? []),
  };
}

/** URL of the output; undefined if the result has none. */
export function readOutputUrl(result: unknown, kind: 'audio' | 'video'): string | undefined {
  const found = output.safeParse(result).data;
  if (found === undefined) return undefined;
  return kind === 'audio'
    ? (found.audio ?? found.audio_file ?? found.audio_url ?? found.audios)
    : (found.video ?? found.video_url ?? found.videos);
}

const LAST_LINES = 50;

/** fal reports no progress, but its models print tqdm's bar into their logs: ` 45%|████`. */
function percentOf(logs: readonly { message: string }[]): number | undefined {
  for (const { message } of logs.slice(-LAST_LINES).reverse()) {
    const bars = [...message.slice(-1_000).matchAll(/(?<!\d)(\d{1,3})%\|/g)];
    const percent = Number(bars.at(-1)?.[1] ?? Number.NaN);
    if (percent <= 100) return Math.min(99, percent);
  }
  return undefined;
}

const MAX_FILES = 100;

const pictures = z.object({
  images: z.array(file).max(MAX_FILES).optional(),
  image: file.optional(),
  has_nsfw_concepts: z
    .union([z.array(z.boolean()), z.boolean().transform((one) => [one])])
    .nullish()
    .catch(undefined),
});

export interface AnsweredImage {
  url: string;
  isAdult: boolean;
}

/** Throws UpstreamFailure if there is no image. */
export function readImages(result: unknown): AnsweredImage[] {
  const found = pictures.safeParse(result).data;
  const urls = found?.images ?? (found?.image === undefined ? [] : [found.image]);
  if (urls.length === 0) throw garbageFailure('the result names no picture');
  return urls.map((url, index) => ({ url, isAdult: found?.has_nsfw_concepts?.[index] === true }));
}

const sounds = z.object({
  audio: file.optional(),
  audio_url: file.optional(),
  audio_file: file.optional(),
});

export function readSpeechUrl(result: unknown): string {
  const found = sounds.safeParse(result).data;
  const url = found?.audio ?? found?.audio_url ?? found?.audio_file;
  if (url === undefined) throw garbageFailure('the result names no recording');
  return url;
}

const cloned = z.object({ custom_voice_id: z.string().regex(/^[\w.-]{1,200}$/) });

export function readVoice(result: unknown): string {
  const found = cloned.safeParse(result).data;
  if (found === undefined) throw garbageFailure('the result names no voice');
  return found.custom_voice_id;
}

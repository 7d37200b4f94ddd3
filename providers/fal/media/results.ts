/** What fal's models answer, of which only what is used is asked for; they differ in names, not in what they mean. */
import { z } from 'zod';
import { garbage } from '../../shared/textFailures.ts';

const MAX_FILES = 100;

const file = z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)]);
const files = z.array(file).max(MAX_FILES);

const pictures = z.object({
  images: files.optional(),
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

/** Throws UpstreamFailure where there is none. */
export function readImages(result: unknown): AnsweredImage[] {
  const found = pictures.safeParse(result).data;
  const urls = found?.images ?? (found?.image === undefined ? [] : [found.image]);
  if (urls.length === 0) throw garbage('the result names no picture');
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
  if (url === undefined) throw garbage('the result names no recording');
  return url;
}

const cloned = z.object({ custom_voice_id: z.string().regex(/^[\w.-]{1,200}$/) });

export function readVoice(result: unknown): string {
  const found = cloned.safeParse(result).data;
  if (found === undefined) throw garbage('the result names no voice');
  return found.custom_voice_id;
}

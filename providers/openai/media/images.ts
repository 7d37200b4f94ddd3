/** POST /images/generations and /images/edits. */
import { readFile, stat } from 'node:fs/promises';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import type { ServicePost } from '../../../infra/http/serviceHttp.ts';
import type { ImageEdit, ImageFile, ImageOrder } from '../../shared/mediaProvider.ts';
import type { Dialect } from '../dialects.ts';
import { familyOf } from './imageFamilies.ts';

type Body = Pick<ServicePost, 'path' | 'json' | 'multipart'>;

export function orderCall(order: ImageOrder, dialect: Dialect): Body {
  if (order.styleReferences.length > 0) throw refused('The model takes no style references.');
  if (order.searchesWeb) throw refused('The model cannot search the web.');
  const family = familyOf(order.upstreamModel);
  const json = {
    model: order.upstreamModel,
    prompt: promptOf(order, family.sampling),
    n: order.count,
    ...family.size(order),
    ...(order.quality !== undefined && { quality: family.quality(order.quality) }),
    ...(family.choosesFormat && { output_format: order.format }),
    ...(family.moderates && { moderation: order.safeMode ? 'auto' : 'low' }),
    ...(family.asksForBase64 && { response_format: 'b64_json' }),
    ...(family.sampling && {
      negative_prompt: order.negativePrompt,
      num_inference_steps: order.steps,
      guidance_scale: order.guidance,
      seed: order.seed,
    }),
    [dialect.userField]: order.endUser,
  };
  return { path: '/images/generations', json };
}

/** Adds options without a field to the prompt as sentences, which these models follow. */
function promptOf({ prompt, style, negativePrompt }: ImageOrder, hasField: boolean): string {
  const sentences = [prompt];
  if (style !== undefined) sentences.push(`Style: ${style}.`);
  if (negativePrompt && !hasField) sentences.push(`Avoid: ${negativePrompt}`);
  return sentences.join('\n\n');
}

/** Limit of the API reference; more are refused. */
const MAX_IMAGES = 16;
const ENDINGS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
};

export async function editCall(edit: ImageEdit, dialect: Dialect): Promise<Body> {
  if (edit.images.length > MAX_IMAGES) throw refused(`The model takes at most ${MAX_IMAGES} images.`);
  const family = familyOf(edit.upstreamModel);
  const quality = edit.quality === undefined ? undefined : family.quality(edit.quality);
  const fields: Record<string, string> = {
    model: edit.upstreamModel,
    prompt: edit.prompt,
    ...family.size({ ...edit, source: edit.images[0] }),
    ...(quality !== undefined && { quality }),
    ...(family.choosesFormat && { output_format: edit.format }),
    ...(family.asksForBase64 && { response_format: 'b64_json' }),
    [dialect.userField]: edit.endUser,
  };
  const path = '/images/edits';
  if (family.edits === 'json') return { path, json: { ...fields, ...(await imagesInJson(edit.images)) } };
  const files = edit.images.map((image, index) => ({
    name: 'image[]',
    path: image.path,
    filename: `image-${index + 1}.${ENDINGS[image.contentType] ?? 'png'}`,
    contentType: image.contentType,
  }));
  return { path, multipart: { fields, files } };
}

/** Each image is in memory three times while it is sent. */
const MAX_JSON_BYTES = 32 * 1024 * 1024;

async function imagesInJson(images: readonly ImageFile[]) {
  const sizes = await Promise.all(images.map(async ({ path }) => (await stat(path)).size));
  if (sizes.reduce((sum, size) => sum + size, 0) > MAX_JSON_BYTES) {
    throw refused('The images are too large for the model.');
  }
  const entries = await Promise.all(
    images.map(async ({ path, contentType }) => ({
      type: 'image_url',
      url: `data:${contentType};base64,${await readFile(path, 'base64')}`,
    })),
  );
  return entries.length === 1 ? { image: entries[0] } : { images: entries };
}

function refused(message: string): UpstreamFailure {
  return new UpstreamFailure({
    reason: 'refused',
    detail: 'not sent: the service has no such field',
    message,
  });
}

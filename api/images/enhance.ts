/** Rewrites a prompt by a text model before the image is made (IMAGE-7). */
import { type TextModel, upstreamNameOf } from '../../domain/catalogue/model.ts';
import { FareboxError } from '../../domain/errors.ts';
import type { ImageFile } from '../../providers/shared/mediaProvider.ts';
import type { TextProvider } from '../../providers/shared/textProvider.ts';
import type { Dependencies } from '../dependencies.ts';
import { invalid } from '../http/invalid.ts';
import { toClientError } from '../http/upstreamErrors.ts';
import { requireCallable, requireModel } from '../models.ts';
import type { ImageRequest } from './imagePipeline.ts';

const DEADLINE_MS = 30_000;
const MAX_TOKENS = 1_024;
/** Many clients refuse longer header lines. */
const MAX_HEADER_BYTES = 4_000;

const INSTRUCTIONS = {
  edit: 'You improve instructions for an image editor. Answer with the improved instruction only, at most 120 words, in the language of the instruction. Keep every wish of it, and add only what makes it unambiguous.',
  image:
    'You improve prompts for an image generator. Answer with the improved prompt only, at most 120 words, in the language of the prompt. Keep everything that it says, and add composition, light and detail.',
};

export interface Enhancer {
  model: TextModel;
  complete: NonNullable<TextProvider['complete']>;
}

/**
 * Checks before any charge. Throws FareboxError `invalid_request` when no model is configured, `model_offline` when it
 * is offline.
 */
export function requireEnhancer(dependencies: Dependencies, { caller }: ImageRequest<unknown>): Enhancer {
  const { config } = dependencies.core;
  const { textProviders } = dependencies.providers;
  const name = config.images.enhanceModel;
  if (name === undefined) throw invalid('enhance_prompt', 'This service has no model that rewrites prompts');
  const { model } = requireModel(config, name, 'text');
  if (model.kind !== 'text') throw invalid('enhance_prompt', 'This service has no model that rewrites prompts');
  // The service chooses this model: of the limits of a key only privacy applies.
  requireCallable(config, model, { ...caller, models: null });
  const provider = textProviders.get(model.provider);
  const complete = provider?.complete?.bind(provider);
  if (!complete) throw new FareboxError({ code: 'model_offline', message: `The model ${model.id} is offline.` });
  return { model, complete };
}

export interface PromptRewrite {
  prompt: string;
  task: keyof typeof INSTRUCTIONS;
  images: readonly ImageFile[];
  endUser: string;
  /** Length in letters; longer prompts are cut. */
  limit: number;
}

/** Throws the error for the client when the model does not answer in time, or returns nothing. */
export async function rewritePrompt(
  { model, complete }: Enhancer,
  { prompt, task, images, endUser, limit }: PromptRewrite,
  { signal, waitFor }: Pick<ImageRequest<unknown>, 'signal' | 'waitFor'>,
): Promise<string> {
  const sizes = images.map(({ width, height }, index) => `image ${index + 1}: ${width}×${height} pixels`);
  const inputs = sizes.length === 0 ? '' : `\n\nIts inputs, the base first: ${sizes.join(', ')}.`;
  const order = {
    upstreamModel: upstreamNameOf(model),
    messages: [
      { role: 'system' as const, content: `${INSTRUCTIONS[task]}${inputs}` },
      { role: 'user' as const, content: prompt },
    ],
    ...{ sampling: {}, n: 1, maxTokens: MAX_TOKENS, endUser },
  };
  const late = AbortSignal.timeout(DEADLINE_MS);
  try {
    const { choices } = await waitFor(complete(order, { signal: AbortSignal.any([signal, late]) }));
    const text = wellFormed(choices[0]?.message.content?.trim() ?? '');
    if (text === '') throw new FareboxError({ code: 'provider_failed', message: NOT_REWRITTEN });
    return wellFormed(text.slice(0, limit));
  } catch (error) {
    if (signal.aborted || !late.aborted) throw toClientError(error);
    throw new FareboxError({
      code: 'timed_out',
      message: 'The prompt was not rewritten in time.',
      cause: error,
    });
  }
}

/** Half a surrogate pair cannot be encoded. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

const NOT_REWRITTEN = 'The prompt could not be rewritten. Nothing was charged; please try again.';

/** URL-encoded; a prompt that is too long for a header is cut. */
export function promptHeader(prompt: string): Record<string, string> {
  let encoded = '';
  for (const letter of wellFormed(prompt)) {
    const next = encodeURIComponent(letter);
    if (encoded.length + next.length > MAX_HEADER_BYTES) break;
    encoded += next;
  }
  return { 'x-service-enhanced-prompt': encoded };
}

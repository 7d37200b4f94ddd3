/** Features beyond text that a request asks for, and the missing ones of a model's entry (TEXT-8). */
import type { TextModel } from '../catalogue/model.ts';
import type { CapabilityFlag } from '../catalogue/specs.ts';

/** Features that a request can ask for, each with the required capability. */
const NEEDED = {
  image: 'supportsVision',
  audio: 'supportsAudioInput',
  video: 'supportsVideoInput',
  tools: 'supportsFunctionCalling',
  schema: 'supportsResponseSchema',
  logprobs: 'supportsLogProbs',
  webSearch: 'supportsWebSearch',
} as const satisfies Record<string, CapabilityFlag>;
export type Feature = keyof typeof NEEDED;

const WORDS: Record<Feature, string> = {
  image: 'image input',
  audio: 'audio input',
  video: 'video input',
  tools: 'function calling',
  schema: 'response_format',
  logprobs: 'log probabilities',
  webSearch: 'web search',
};

/** `asked`: features with their place in the body. Returns one complaint per missing feature. */
export function missingFeatures(
  model: TextModel,
  asked: ReadonlyMap<Feature, string>,
): { path: string; words: string }[] {
  const { capabilities = {} } = model.spec;
  return [...asked]
    .filter(([feature]) => capabilities[NEEDED[feature]] !== true)
    .map(([feature, path]) => ({ path, words: `${model.id} does not support ${WORDS[feature]}` }));
}

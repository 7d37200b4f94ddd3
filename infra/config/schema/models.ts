/** Model entries of the configuration file. */
import { z } from 'zod';
import { MODEL_SIZES } from '../../../domain/catalogue/model.ts';
import { EVALUATION_METHODS } from '../../../domain/decisions/evaluation.ts';
import { MAX_LABELS } from '../../../domain/decisions/question.ts';
import { videoPrice } from './pricing.ts';
import { count, modelId, name, strictObject, text } from './primitives.ts';
import {
  asrSpec,
  decisionSpec,
  embeddingSpec,
  imageSpec,
  inpaintSpec,
  musicSpec,
  textSpec,
  ttsSpec,
  upscaleSpec,
  videoInputs,
  videoSpec,
  voiceChangerSpec,
} from './specs.ts';

const common = {
  id: modelId,
  provider: name,
  upstreamModel: text(256).exactOptional(),
  privacy: z.enum(['private', 'anonymized']),
  /** Unix seconds. */
  created: count(0, 10_000_000_000).exactOptional(),
  aliases: z.array(modelId).max(64).exactOptional().describe('Foreign names that requests may use for it.'),
  discount_to_user: z.number().gt(0).lt(1).exactOptional(),
};

/** Size classes (LIMIT-1): they decide the request and token limits of text and embedding models. */
const size = z.enum(MODEL_SIZES).exactOptional();

/** How a decision model finds its probabilities; the defaults are in domain/decisions/evaluation.ts. */
const evaluation = strictObject({
  method: z
    .enum(EVALUATION_METHODS)
    .exactOptional()
    .describe('From the log probabilities of one token, or by asking several times. Default: what the provider can.'),
  samples: count(1, 50).exactOptional().describe('Answers per question with `sampling`. Default 10.'),
  topLogprobs: count(5, MAX_LABELS)
    .exactOptional()
    .describe('Alternatives to a token that the service lists at most. Default 20.'),
  turnOffThinking: z
    .boolean()
    .exactOptional()
    .describe('For models that think before they answer unless they are told not to. Default false.'),
}).exactOptional();

/** How the provider counts media in a prompt; the defaults are in domain/text/promptSize.ts. */
const mediaTokens = strictObject({
  pixelsPerToken: count(1, 1_000_000).exactOptional().describe('Pixels of a picture that make a token. Default 500.'),
  minPerImage: count(0, 1_000_000).exactOptional().describe('Tokens of the smallest picture. Default 2000.'),
  maxPerImage: count(0, 1_000_000).exactOptional().describe('Tokens of the largest picture. Default 16384.'),
  perVideoSecond: count(0, 1_000_000)
    .exactOptional()
    .describe('Tokens of a second of video, its sound left out. Default 800.'),
  perAudioSecond: count(0, 1_000_000).exactOptional().describe('Tokens of a second of sound. Default 50.'),
})
  .exactOptional()
  .describe('The most tokens that the provider counts for media in a prompt. The hold of a request counts them so.');

const imageUse = z
  .literal('cutout')
  .exactOptional()
  .describe('It takes the background off a picture. Default: it makes pictures from words.');

export const model = z.discriminatedUnion('type', [
  strictObject({ ...common, type: z.literal('text'), size, mediaTokens, spec: textSpec }),
  strictObject({ ...common, type: z.literal('embedding'), size, spec: embeddingSpec }),
  strictObject({ ...common, type: z.literal('decision'), evaluation, spec: decisionSpec }),
  strictObject({ ...common, type: z.literal('image'), imageUse, spec: imageSpec }),
  strictObject({ ...common, type: z.literal('inpaint'), spec: inpaintSpec }),
  strictObject({ ...common, type: z.literal('upscale'), spec: upscaleSpec }),
  strictObject({ ...common, type: z.literal('asr'), spec: asrSpec }),
  strictObject({ ...common, type: z.literal('tts'), spec: ttsSpec }),
  strictObject({
    ...common,
    type: z.literal('music'),
    spec: z.discriminatedUnion('voice_changer', [voiceChangerSpec, musicSpec]),
  }),
  strictObject({
    ...common,
    type: z.literal('video'),
    price: videoPrice,
    inputs: videoInputs.exactOptional(),
    spec: videoSpec,
  }),
]);

export type ModelEntry = z.output<typeof model>;
export type VoiceChangerEntry = Extract<ModelEntry, { type: 'music' }> & {
  spec: z.output<typeof voiceChangerSpec>;
};

export function isVoiceChanger(entry: ModelEntry): entry is VoiceChangerEntry {
  return entry.type === 'music' && entry.spec.voice_changer === true;
}

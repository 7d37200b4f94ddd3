/** Model entries of the configuration file. */
import { z } from 'zod';
import { MODEL_SIZES } from '../../../domain/catalogue/model.ts';
import { videoPrice } from './pricing.ts';
import { closed, count, modelId, name, text } from './primitives.ts';
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

/** Size classes of specification 8.1: they decide the request and token limits of text and embedding models. */
const size = z.enum(MODEL_SIZES).exactOptional();

export const model = z.discriminatedUnion('type', [
  closed({ ...common, type: z.literal('text'), size, spec: textSpec }),
  closed({ ...common, type: z.literal('embedding'), size, spec: embeddingSpec }),
  closed({ ...common, type: z.literal('decision'), spec: decisionSpec }),
  closed({ ...common, type: z.literal('image'), spec: imageSpec }),
  closed({ ...common, type: z.literal('inpaint'), spec: inpaintSpec }),
  closed({ ...common, type: z.literal('upscale'), spec: upscaleSpec }),
  closed({ ...common, type: z.literal('asr'), spec: asrSpec }),
  closed({ ...common, type: z.literal('tts'), spec: ttsSpec }),
  closed({
    ...common,
    type: z.literal('music'),
    spec: z.discriminatedUnion('voice_changer', [voiceChangerSpec, musicSpec]),
  }),
  closed({ ...common, type: z.literal('video'), price: videoPrice, spec: videoSpec }),
]);

export type ModelEntry = z.output<typeof model>;
export type VoiceChangerEntry = Extract<ModelEntry, { type: 'music' }> & {
  spec: z.output<typeof voiceChangerSpec>;
};

export function isVoiceChanger(entry: ModelEntry): entry is VoiceChangerEntry {
  return entry.type === 'music' && entry.spec.voice_changer === true;
}

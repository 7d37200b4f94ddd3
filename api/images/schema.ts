/** Bodies of the image routes (IMAGE-1, IMAGE-8, IMAGE-9, IMAGE-10). */
import { z } from 'zod';
import { ASPECT_RATIOS } from '../../domain/images/images.ts';
import { OPENAI_QUALITIES } from '../../domain/images/offer.ts';
import { IMAGE_STYLES } from '../../domain/images/styles.ts';
import { fileText } from '../body/spooledText.ts';
import { anonUserId } from '../http/endUser.ts';

const MAX_PROMPT_LENGTH = 32_768;
const MAX_SIDE = 1_280;

const formBoolean = z.enum(['true', 'false']).transform((word) => word === 'true');
const quality = z.enum(['low', 'medium', 'high']);

/** `jpg` means `jpeg` (IMAGE-5). */
const outputFormat = z
  .enum(['jpeg', 'jpg', 'png', 'webp'])
  .transform((format) => (format === 'jpg' ? 'jpeg' : format))
  .optional();

const edited = (boolean: z.ZodType<boolean>) => ({
  prompt: z.string().min(1).max(MAX_PROMPT_LENGTH),
  aspect_ratio: z.enum(['auto', ...ASPECT_RATIOS]).optional(),
  resolution: z.string().min(1).max(10).optional(),
  output_format: outputFormat,
  safe_mode: boolean.optional(),
  disable_prompt_optimization_thinking: boolean.optional(),
  enhance_prompt: boolean.optional(),
  anon_user_id: anonUserId,
});

/** Pictures of one request. */
const MAX_RESULTS = 4;

const MODEL_ID = { modelId: z.string().min(1).optional() };
const EITHER_MODEL = { model: z.string().min(1).optional(), ...MODEL_ID };

export const multiEditBody = z.strictObject({
  ...edited(z.boolean()),
  ...MODEL_ID,
  images: z.array(fileText).min(1).max(10),
  quality: quality.optional(),
});
/** The images are the files of the form. */
export const multiEditFields = z
  .strictObject({ ...edited(formBoolean), ...MODEL_ID, quality: quality.optional() })
  .transform((fields) => ({ ...fields, images: [] }));
export type MultiEditBody = z.output<typeof multiEditBody>;

export const editBody = z.strictObject({
  ...edited(z.boolean()),
  ...EITHER_MODEL,
  image: fileText.optional(),
});
export const editFields = z.strictObject({ ...edited(formBoolean), ...EITHER_MODEL });
export type EditBody = z.output<typeof editBody>;

const aModel = { model: z.string().min(1).optional() };

export const cutoutBody = z.strictObject({
  ...aModel,
  image: fileText.nullable().optional(),
  image_url: z.string().max(8_192).nullable().optional(),
  anon_user_id: anonUserId,
});
export const cutoutFields = z.strictObject({ ...aModel, anon_user_id: anonUserId });
export type CutoutBody = z.output<typeof cutoutBody>;

/** Obsolete fields are still sent: unknown ones are no error here. */
export const upscaleBody = z.object({
  ...aModel,
  image: fileText.optional(),
  scale: z.number().min(2).max(4).nullable().optional(),
  creativity: z.number().nullable().optional(),
});
const formNumber = z
  .string()
  .regex(/^-?\d{1,9}(\.\d{1,9})?$/, 'Expected a number')
  .transform(Number);
export const upscaleFields = z.object({
  ...aModel,
  scale: formNumber.pipe(z.number().min(2).max(4)).optional(),
  creativity: formNumber.optional(),
});
export type UpscaleBody = z.output<typeof upscaleBody>;

const side = z.int().min(1).max(MAX_SIDE);

export const generateBody = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1).max(MAX_PROMPT_LENGTH),
  negative_prompt: z.string().max(MAX_PROMPT_LENGTH).optional(),
  width: side.optional(),
  height: side.optional(),
  aspect_ratio: z.string().min(1).max(16).optional(),
  resolution: z.string().min(1).max(10).optional(),
  quality: quality.optional(),
  cfg_scale: z.number().gt(0).max(20).optional(),
  steps: z.int().min(1).max(1_000).optional(),
  seed: z.int().min(-999_999_999).max(999_999_999).optional(),
  variants: z.int().min(1).max(MAX_RESULTS).optional(),
  format: z.enum(['jpeg', 'png', 'webp']).default('webp'),
  return_binary: z.boolean().default(false),
  embed_exif_metadata: z.boolean().default(false),
  hide_watermark: z.boolean().default(false),
  enable_web_search: z.boolean().default(false),
  enhance_prompt: z.boolean().default(false),
  disable_prompt_optimization_thinking: z.boolean().default(false),
  safe_mode: z.boolean().optional(),
  style_preset: z.enum(IMAGE_STYLES, { error: 'Must be an entry of GET /image/styles' }).nullable().optional(),
  style_references: z
    .array(z.strictObject({ image: fileText, strength: z.number().min(0.1).max(1).default(0.5) }))
    .max(8)
    .default([]),
  lora_strength: z.int().min(0).max(100).optional(),
  inpaint: z.null({ error: 'Inpainting was removed here: use /image/edit' }).optional(),
  anon_user_id: anonUserId,
});
export type GenerateBody = z.output<typeof generateBody>;

const IMAGE_SIZES = [
  'auto',
  '256x256',
  '512x512',
  '1024x1024',
  '1536x1024',
  '1024x1536',
  '1792x1024',
  '1024x1792',
] as const;

/** Body of OpenAI's route; some fields are accepted without effect, for its clients. */
export const generationsBody = z.strictObject({
  model: z.string().min(1).nullable().optional(),
  prompt: z.string().min(1).max(1_500),
  n: z.int().min(1).max(MAX_RESULTS).nullable().optional(),
  size: z.enum(IMAGE_SIZES).nullable().optional(),
  output_format: z.enum(['jpeg', 'png', 'webp']).default('png'),
  response_format: z.enum(['b64_json', 'url']).nullable().optional(),
  moderation: z.enum(['auto', 'low']).nullable().optional(),
  quality: z.enum(OPENAI_QUALITIES).nullable().optional(),
  style: z.string().max(32).nullable().optional(),
  background: z.string().max(32).nullable().optional(),
  output_compression: z.int().min(0).max(100).nullable().optional(),
  user: z.string().max(256).nullable().optional(),
});
export type GenerationsBody = z.output<typeof generationsBody>;

/** Form of OpenAI's edit, whose files are the pictures; some fields are accepted without effect. */
export const openAiEditFields = z.strictObject({
  model: z.string().min(1).optional(),
  prompt: z.string().min(1).max(MAX_PROMPT_LENGTH),
  n: formNumber.pipe(z.int().min(1).max(MAX_RESULTS)).optional(),
  size: z.enum(IMAGE_SIZES).optional(),
  quality: z.enum(OPENAI_QUALITIES).optional(),
  output_format: outputFormat,
  response_format: z.enum(['b64_json', 'url']).optional(),
  stream: z.literal('false', { error: 'Streaming is not supported' }).optional(),
  partial_images: z.literal('0', { error: 'Streaming is not supported' }).optional(),
  moderation: z.enum(['auto', 'low']).optional(),
  background: z.enum(['auto', 'opaque']).optional(),
  input_fidelity: z.enum(['low', 'high']).optional(),
  output_compression: formNumber.pipe(z.int().min(0).max(100)).optional(),
  user: z.string().max(256).optional(),
  safety_identifier: z.string().max(256).optional(),
});
export type OpenAiEditFields = z.output<typeof openAiEditFields>;

export const generateAnswer = z.strictObject({
  id: z.string(),
  images: z.array(z.string()).meta({ description: 'Base64.' }),
  request: z.looseObject({}).meta({ description: 'What was asked for, with every default.' }),
  timing: z.strictObject({
    inferenceDuration: z.number(),
    inferencePreprocessingTime: z.number(),
    inferenceQueueTime: z.number(),
    total: z.number(),
  }),
});

export const generationsAnswer = z.strictObject({
  created: z.int(),
  data: z.array(z.strictObject({ b64_json: z.string().optional(), url: z.string().optional() })),
});

export const stylesAnswer = z.strictObject({ object: z.literal('list'), data: z.array(z.string()) });

/** POST /image/generate, POST /images/generations and GET /image/styles (IMAGE-8). */
import type { ImageSpec } from '../../domain/catalogue/specs.ts';
import { qualityOf, resolutionOfSize } from '../../domain/images/offer.ts';
import { IMAGE_STYLES } from '../../domain/images/styles.ts';
import { type Answer, json } from '../http/answer.ts';
import { invalid } from '../http/invalid.ts';
import { defineRoute } from '../http/route.ts';
import { ONE_IMAGE_JSON_BYTES, SPOOLS } from './editRoutes.ts';
import { filesInJson } from './filesInJson.ts';
import {
  type GeneratedImages,
  type GenerationOrder,
  generateImages,
  isGenerator,
  requireImageModel,
} from './generate.ts';
import { DEADLINE_MS, fileAnswer } from './imagePipeline.ts';
import { asOpenAi, pixelsOf, withDefaultModel } from './openAi.ts';
import { IMAGE_DESCRIPTIONS } from './openapi.ts';
import { type GenerateBody, type GenerationsBody, generateBody, generationsBody } from './schema.ts';

const SMALL_JSON_BYTES = 256 * 1024;
/** Trait of the default model. */
const DEFAULT_MODEL = 'default';

export const generateRoute = defineRoute<'buyer', GenerateBody>({
  method: 'POST',
  path: '/image/generate',
  access: 'buyer',
  body: {
    json: { schema: generateBody, maxBytes: ONE_IMAGE_JSON_BYTES, spools: SPOOLS },
    needsModel: true,
    modelType: 'image',
  },
  sells: isGenerator,
  deadlineMs: DEADLINE_MS,
  describes: IMAGE_DESCRIPTIONS.generate,
  async handler(dependencies, request) {
    const { body, requestId } = request;
    const named = requireImageModel(dependencies, request, body.model);
    if (body.return_binary && (body.variants ?? 1) > 1) {
      throw invalid('variants', 'Only one image can be returned as binary');
    }
    const asked = { ...body, style_references: body.style_references.map(({ strength }) => ({ strength })) };
    return await generateImages(dependencies, request, {
      named,
      order: orderOf(body),
      present: (generated) =>
        body.return_binary ? asFile(generated) : asJson(generated, { id: `image-${requestId}`, asked }),
    });
  },
});

function orderOf(body: GenerateBody): GenerationOrder {
  return {
    prompt: body.prompt,
    negativePrompt: body.negative_prompt,
    width: body.width,
    height: body.height,
    aspectRatio: body.aspect_ratio,
    resolution: body.resolution,
    quality: body.quality,
    guidance: body.cfg_scale,
    steps: body.steps,
    seed: body.seed,
    count: body.variants ?? 1,
    format: body.format,
    safeMode: body.safe_mode,
    style: body.style_preset ?? undefined,
    references: body.style_references.map(({ image, strength }, index) => ({
      image: { field: `style_references[${index}].image`, source: image },
      strength,
    })),
    loraStrength: body.lora_strength,
    hidesWatermark: body.hide_watermark,
    searchesWeb: body.enable_web_search,
    skipsThinking: body.disable_prompt_optimization_thinking,
    enhances: body.enhance_prompt,
    notes: body.embed_exif_metadata,
    anonUserId: body.anon_user_id,
  };
}

async function asFile({ made, headers }: GeneratedImages): Promise<Answer> {
  const [image] = made;
  if (!image) throw new Error('no image');
  return await fileAnswer(image, headers);
}

async function asJson(
  { made, headers, timing }: GeneratedImages,
  { id, asked }: { id: string; asked: object },
): Promise<Answer> {
  const rest = {
    request: asked,
    timing: {
      inferenceDuration: Math.round(timing.inference),
      inferencePreprocessingTime: Math.round(timing.preprocessing),
      inferenceQueueTime: 0,
      total: Math.round(timing.total),
    },
  };
  return await filesInJson({
    before: `{"id":${JSON.stringify(id)},"images":["`,
    between: '","',
    after: `"],${JSON.stringify(rest).slice(1)}`,
    paths: made.map(({ path }) => path),
    headers,
  });
}

export const generationsRoute = defineRoute<'buyer', GenerationsBody>({
  method: 'POST',
  path: '/images/generations',
  access: 'buyer',
  body: {
    json: { schema: generationsBody, maxBytes: SMALL_JSON_BYTES },
    naming: { fields: ['model'], otherwise: DEFAULT_MODEL },
    modelType: 'image',
  },
  sells: isGenerator,
  deadlineMs: DEADLINE_MS,
  describes: IMAGE_DESCRIPTIONS.generations,
  async handler(dependencies, request) {
    const { body } = request;
    const named = withDefaultModel(DEFAULT_MODEL, (name) => requireImageModel(dependencies, request, name))(body.model);
    await request.admitModel(named.model.id);
    return await generateImages(dependencies, request, {
      named,
      order: openAiOrder(body, named.model.spec),
      present: (generated) => asOpenAi(generated, body.response_format),
    });
  },
});

function openAiOrder(body: GenerationsBody, spec: ImageSpec): GenerationOrder {
  const { prompt, output_format: format, user } = body;
  const size = pixelsOf(body.size);
  const tier = { resolution: resolutionOfSize(spec, size), quality: qualityOf(spec, body.quality) };
  return {
    ...{ prompt, ...size, ...tier, format, count: body.n ?? 1, references: [], anonUserId: user ?? undefined },
    ...{ hidesWatermark: false, searchesWeb: false, skipsThinking: false, enhances: false, notes: false },
  };
}

export const stylesRoute = defineRoute({
  method: 'GET',
  path: '/image/styles',
  access: 'catalogue',
  describes: IMAGE_DESCRIPTIONS.styles,
  handler: async () => json({ object: 'list', data: IMAGE_STYLES }),
});

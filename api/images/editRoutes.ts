/** POST /image/multi-edit, POST /image/edit and POST /images/edits (IMAGE-1). */
import { type AspectRatio, SOURCE_BYTES } from '../../domain/images/images.ts';
import { qualityOf, resolutionOfSize, wrongAspectRatio } from '../../domain/images/offer.ts';
import type { SpooledText } from '../body/spooledText.ts';
import { invalid } from '../http/invalid.ts';
import { defineRoute, type UploadedFile } from '../http/route.ts';
import { editImages, requireEditModel } from './edit.ts';
import { DEADLINE_MS } from './imagePipeline.ts';
import { asOpenAi, pixelsOf, withDefaultModel } from './openAi.ts';
import { IMAGE_DESCRIPTIONS } from './openapi.ts';
import {
  type EditBody,
  editBody,
  editFields,
  type MultiEditBody,
  multiEditBody,
  multiEditFields,
  type OpenAiEditFields,
  openAiEditFields,
} from './schema.ts';
import type { SentImage } from './sources.ts';

const MEGABYTE = 1024 * 1024;
/** Under 25 MB in base64, with the other fields. */
export const ONE_IMAGE_JSON_BYTES = 35 * MEGABYTE;
/** Three of the largest images in base64; ten would be a third of a gigabyte per request. */
const MULTI_JSON_BYTES = 105 * MEGABYTE;
const MULTI_FORM_BYTES = 75 * MEGABYTE;
const MAX_FILES = 10;
const MAX_FILE_BYTES = SOURCE_BYTES - 1;
export const SPOOLS = { maxFileBytes: MAX_FILE_BYTES };
/** The only file of a form, named `image`. */
export const ONE_IMAGE_FORM = {
  maxFileBytes: MAX_FILE_BYTES,
  files: { name: 'image', most: 1, maxTotalBytes: MAX_FILE_BYTES },
};

/** Trait of the default model. */
const DEFAULT_MODEL = 'default';

export const multiEditRoute = defineRoute<'buyer', MultiEditBody>({
  method: 'POST',
  path: '/image/multi-edit',
  access: 'buyer',
  body: {
    json: { schema: multiEditBody, maxBytes: MULTI_JSON_BYTES, spools: SPOOLS },
    multipart: {
      fields: multiEditFields,
      maxFileBytes: MAX_FILE_BYTES,
      files: { name: 'images', most: MAX_FILES, maxTotalBytes: MULTI_FORM_BYTES },
    },
    naming: { fields: ['modelId'], otherwise: DEFAULT_MODEL },
    modelType: 'inpaint',
  },
  deadlineMs: DEADLINE_MS,
  describes: IMAGE_DESCRIPTIONS.multiEdit,
  async handler(dependencies, request) {
    const { body, files } = request;
    const sent: (string | SpooledText | UploadedFile)[] = [...body.images, ...files];
    if (sent.length === 0) throw invalid('images', 'Required');
    return await editImages(dependencies, request, {
      ...orderOf(body),
      named: requireEditModel(dependencies, request, {
        name: body.modelId ?? DEFAULT_MODEL,
        field: 'modelId',
      }),
      images: sent.map((source, index) => ({ field: `images[${index}]`, source })),
      quality: body.quality,
      count: 1,
      safeMode: { wished: body.safe_mode, usual: false },
      strict: false,
    });
  },
});

export const editRoute = defineRoute<'buyer', EditBody>({
  method: 'POST',
  path: '/image/edit',
  access: 'buyer',
  body: {
    json: { schema: editBody, maxBytes: ONE_IMAGE_JSON_BYTES, spools: SPOOLS },
    multipart: { fields: editFields, ...ONE_IMAGE_FORM },
    naming: { fields: ['model', 'modelId'], otherwise: DEFAULT_MODEL },
    modelType: 'inpaint',
  },
  deadlineMs: DEADLINE_MS,
  describes: IMAGE_DESCRIPTIONS.edit,
  async handler(dependencies, request) {
    const { body, file } = request;
    return await editImages(dependencies, request, {
      ...orderOf(body),
      named: requireEditModel(dependencies, request, {
        name: body.model ?? body.modelId ?? DEFAULT_MODEL,
        field: body.model === undefined ? 'modelId' : 'model',
      }),
      images: [oneImage(file ?? body.image)],
      quality: undefined,
      count: 1,
      safeMode: { wished: body.safe_mode, usual: true },
      strict: true,
    });
  },
});

/** Ratios of OpenAI's sizes, for models that take no size in pixels. */
const RATIOS: Partial<Record<string, AspectRatio>> = {
  ...{ '256x256': '1:1', '512x512': '1:1', '1024x1024': '1:1', '1536x1024': '3:2', '1024x1536': '2:3' },
  ...{ '1792x1024': '16:9', '1024x1792': '9:16' },
};

export const openAiEditRoute = defineRoute<'buyer', OpenAiEditFields>({
  method: 'POST',
  path: '/images/edits',
  access: 'buyer',
  body: {
    multipart: {
      fields: openAiEditFields,
      maxFileBytes: MAX_FILE_BYTES,
      files: { name: 'image', alsoNamed: 'image[]', most: MAX_FILES, maxTotalBytes: MULTI_FORM_BYTES },
    },
    naming: { fields: ['model'], otherwise: DEFAULT_MODEL },
    modelType: 'inpaint',
  },
  deadlineMs: DEADLINE_MS,
  describes: IMAGE_DESCRIPTIONS.openAiEdit,
  async handler(dependencies, request) {
    const { body, files } = request;
    if (files.length === 0) throw invalid('image', 'Required');
    const find = (name: string) => requireEditModel(dependencies, request, { name, field: 'model' });
    const named = withDefaultModel(DEFAULT_MODEL, find)(body.model);
    await request.admitModel(named.model.id);
    const ratio = RATIOS[body.size ?? 'auto'];
    const { spec } = named.model;
    const size = pixelsOf(body.size);
    return await editImages(dependencies, request, {
      named,
      prompt: body.prompt,
      images: files.map((source, index) => ({ field: `image[${index}]`, source })),
      // Clients that always send a size are accepted where the model has no choice.
      aspectRatio: wrongAspectRatio(spec, ratio) ? undefined : ratio,
      size,
      resolution: resolutionOfSize(spec, size),
      quality: qualityOf(spec, body.quality),
      count: body.n ?? 1,
      format: body.output_format ?? 'png',
      safeMode: { wished: undefined, usual: true },
      ...{ enhances: false, skipsThinking: false, strict: false },
      anonUserId: body.safety_identifier || body.user,
      present: (made, headers) => asOpenAi({ made, headers }, body.response_format),
    });
  },
});

export function oneImage(source: SentImage['source'] | null | undefined): SentImage {
  if (source === undefined || source === null) throw invalid('image', 'Required');
  return { field: 'image', source };
}

function orderOf(body: Omit<MultiEditBody, 'images'> | EditBody) {
  return {
    prompt: body.prompt,
    aspectRatio: body.aspect_ratio,
    resolution: body.resolution,
    format: body.output_format,
    enhances: body.enhance_prompt === true,
    skipsThinking: body.disable_prompt_optimization_thinking === true,
    anonUserId: body.anon_user_id,
  };
}

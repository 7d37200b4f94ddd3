/** POST /image/multi-edit and POST /image/edit (specification 4.2, api-facts 4.2). */
import { SOURCE_BYTES } from '../../domain/images/images.ts';
import type { SpooledText } from '../body/spooledText.ts';
import { invalid } from '../invalid.ts';
import { defineRoute, type UploadedFile } from '../route.ts';
import { IMAGE_DESCRIPTIONS } from './descriptions.ts';
import { editImages } from './edit.ts';
import {
  type EditBody,
  editBody,
  editFields,
  type MultiEditBody,
  multiEditBody,
  multiEditFields,
} from './shapes.ts';
import type { SentImage } from './sources.ts';
import { DEADLINE_MS } from './studio.ts';

const MEGABYTE = 1024 * 1024;
/** Under 25 MB, as base64, beside the other fields. */
export const ONE_IMAGE_JSON_BYTES = 35 * MEGABYTE;
/** Three of the largest images in base64; ten of them would be a third of a gigabyte for one request. */
const MULTI_JSON_BYTES = 105 * MEGABYTE;
const MULTI_FORM_BYTES = 75 * MEGABYTE;
const MOST_FILES = 10;
export const LARGEST_FILE_BYTES = SOURCE_BYTES - 1;
export const SPOOLS = { maxFileBytes: LARGEST_FILE_BYTES };
/** The one file of a form, named `image`. */
export const ONE_IMAGE_FORM = {
  maxFileBytes: LARGEST_FILE_BYTES,
  files: { name: 'image', most: 1, maxTotalBytes: LARGEST_FILE_BYTES },
};

const USUAL_MODEL = 'firered-image-edit';

export const multiEditRoute = defineRoute<'key', MultiEditBody>({
  method: 'POST',
  path: '/image/multi-edit',
  access: 'key',
  body: {
    json: { schema: multiEditBody, maxBytes: MULTI_JSON_BYTES, spools: SPOOLS },
    multipart: {
      fields: multiEditFields,
      maxFileBytes: LARGEST_FILE_BYTES,
      files: { name: 'images', most: MOST_FILES, maxTotalBytes: MULTI_FORM_BYTES },
    },
    naming: { fields: ['modelId'], otherwise: USUAL_MODEL },
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
      modelName: body.modelId ?? USUAL_MODEL,
      modelField: 'modelId',
      images: sent.map((source, index) => ({ field: `images[${index}]`, source })),
      quality: body.quality,
      safeMode: { wished: body.safe_mode, usual: false },
      strict: false,
    });
  },
});

export const editRoute = defineRoute<'key', EditBody>({
  method: 'POST',
  path: '/image/edit',
  access: 'key',
  body: {
    json: { schema: editBody, maxBytes: ONE_IMAGE_JSON_BYTES, spools: SPOOLS },
    multipart: { fields: editFields, ...ONE_IMAGE_FORM },
    naming: { fields: ['model', 'modelId'], otherwise: USUAL_MODEL },
    modelType: 'inpaint',
  },
  deadlineMs: DEADLINE_MS,
  describes: IMAGE_DESCRIPTIONS.edit,
  async handler(dependencies, request) {
    const { body, file } = request;
    return await editImages(dependencies, request, {
      ...orderOf(body),
      modelName: body.model ?? body.modelId ?? USUAL_MODEL,
      modelField: body.model === undefined ? 'modelId' : 'model',
      images: [oneImage(file ?? body.image)],
      quality: undefined,
      safeMode: { wished: body.safe_mode, usual: true },
      strict: true,
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

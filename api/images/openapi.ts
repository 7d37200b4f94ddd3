/** Descriptions of the image routes. */
import type { ErrorCode } from '../../domain/errors.ts';
import type { AnswerDescription, RouteDescription } from '../http/describe.ts';
import { dryRunCost } from '../paid/dryRun.ts';
import { generateAnswer, generationsAnswer, stylesAnswer } from './schema.ts';

const PAID =
  'Charged when the answer begins: whoever gets an error pays nothing, nor does one who has gone away by then, within the ' +
  'refunds of the day (`limits.refundedPerDay`). With the header ' +
  '`x-service-dry-run: true` the answer is the price, and nothing is made.';
const SOURCES =
  'An image is raw base64, a data URL or an http(s) URL; JPEG, PNG, WebP, GIF, AVIF and their like, one frame, under 25 MB.';
const REWRITING =
  '`enhance_prompt` has the prompt rewritten by the text model of the configuration (`images.enhanceModel`) for 0.04 USD; ' +
  'the final prompt is in `x-service-enhanced-prompt`, URL-encoded.';
const OPENAI_FORM =
  '`n` results cost `n` times the price. `quality` counts where the model has qualities: `hd` is its best one, `standard` ' +
  'the best below `high`, and `auto` its default. A `size` is made in the tier `1K` where the model has it.';
const SAFETY = '`safe_mode: true` is refused for models without a classifier, which are all that run on this machine.';

const MODEL_HEADERS = {
  'x-service-model-id': 'The model that was used.',
  'x-service-model-name': 'Its name.',
  'x-service-is-blurred': '`true` when the result was judged adult and blurred.',
  'x-service-is-content-violation': 'Always `false`: what violates a policy is an error.',
};
const HEADERS = {
  ...MODEL_HEADERS,
  'x-service-enhanced-prompt': 'With `enhance_prompt`: the prompt that was used, URL-encoded, at most 4,000 bytes.',
};

const ERRORS: readonly ErrorCode[] = [
  ...(['model_not_found', 'model_offline', 'forbidden', 'insufficient_balance', 'key_limit_exceeded'] as const),
  ...(['payload_too_large', 'provider_refused', 'provider_failed', 'provider_busy'] as const),
];

const PICTURE: AnswerDescription['bodies'] = [
  ...['image/png', 'image/jpeg', 'image/webp'].map((mediaType) => ({ mediaType })),
  { schema: dryRunCost },
];
const pictured = (means: string, headers: Record<string, string>): RouteDescription['answers'] => ({
  200: { means, bodies: PICTURE, headers },
});

/** Source picture: `$CARD`. */
const A_CARD = [
  'CARD=$(mktemp)',
  `curl -sS "$FAREBOX_URL/image/generate" -H "Authorization: Bearer $FAREBOX_API_KEY" \\
  -H 'Content-Type: application/json' -d '{"model":"simulator-image","prompt":"a red tram","format":"png","return_binary":true}' -o "$CARD"`,
];

type ImageRoute = 'multiEdit' | 'edit' | 'cutout' | 'upscale' | 'generate' | 'generations' | 'openAiEdit' | 'styles';

const WITHOUT_MODEL = 'Without a model, the one with the trait `default` answers.';

export const IMAGE_DESCRIPTIONS: Record<ImageRoute, RouteDescription> = {
  multiEdit: {
    group: 'Images',
    operationId: 'editImages',
    summary: 'Edit an image with further ones as layers or masks',
    description:
      `The first image is the base, the others are layers or masks: as many as the model's \`maxInputImages\`, at most 10. ` +
      `${SOURCES} Each has 65,536 to 33,177,600 pixels. A JSON body is at most 105 MB, a form (files named \`images\`) ` +
      `75 MB. \`aspect_ratio\` left out or \`auto\` is the nearest ratio to the first image's; the format is PNG for ` +
      `\`1K\` and JPEG for larger ones unless \`output_format\` says otherwise. ${WITHOUT_MODEL} ` +
      `${REWRITING} ${SAFETY} ${PAID}`,
    answers: pictured('The edited image.', HEADERS),
    errors: ERRORS,
    example: {
      before: A_CARD,
      form: { modelId: 'local-edit', prompt: 'black and white', images: '@$CARD' },
      output: 'edited.png',
    },
  },
  edit: {
    group: 'Images',
    operationId: 'editImage',
    summary: 'Edit an image',
    description: `${SOURCES} It has 65,536 to 33,177,600 pixels. ${WITHOUT_MODEL} ${REWRITING} ${SAFETY} ${PAID}`,
    answers: pictured('The edited image.', HEADERS),
    errors: ERRORS,
    example: {
      before: A_CARD,
      form: { model: 'local-edit', prompt: 'rotate right', image: '@$CARD' },
      output: 'edited.png',
    },
  },
  cutout: {
    group: 'Images',
    operationId: 'removeBackground',
    summary: 'Remove the background of an image',
    description: `${SOURCES} Without \`model\` the published one is used where it can be called, else the local one. ${PAID}`,
    answers: pictured('A PNG with a transparent background.', MODEL_HEADERS),
    errors: ERRORS,
    example: { before: A_CARD, form: { image: '@$CARD' }, output: 'cutout.png' },
  },
  upscale: {
    group: 'Images',
    operationId: 'upscaleImage',
    summary: 'Enlarge an image',
    description:
      `${SOURCES} \`scale\` is 2 to 4, and reduced where the result would have more than 16,777,216 pixels; up to twice ` +
      `the size is one price, more the other. Without \`model\` the published one is used where it can be called, else ` +
      `the local one. ${PAID}`,
    answers: pictured('A PNG.', MODEL_HEADERS),
    errors: ERRORS,
    example: { before: A_CARD, form: { scale: '2', image: '@$CARD' }, output: 'large.png' },
  },
  generate: {
    group: 'Images',
    operationId: 'generateImages',
    summary: 'Make images from words',
    description: `1 to 4 \`variants\`, or one with \`return_binary\`. ${REWRITING} ${SAFETY} ${PAID}`,
    answers: {
      200: { means: 'The images.', bodies: [{ schema: generateAnswer }, ...PICTURE], headers: HEADERS },
    },
    errors: ERRORS,
    example: { json: { model: 'simulator-image', prompt: 'a red tram', format: 'png' } },
  },
  generations: {
    group: 'Images',
    operationId: 'createImage',
    summary: 'Make an image, as OpenAI has it',
    description:
      `For clients of that API. ${OPENAI_FORM} \`style\`, \`background\`, \`output_compression\` and \`moderation\` are ` +
      `accepted and have no effect, and a model that is not known here is answered for by the default one. ${PAID}`,
    answers: {
      200: {
        means: 'The image.',
        bodies: [{ schema: generationsAnswer }, { schema: dryRunCost }],
        headers: MODEL_HEADERS,
      },
    },
    errors: ERRORS,
    example: { json: { model: 'simulator-image', prompt: 'a red tram', size: '512x512' } },
  },
  openAiEdit: {
    group: 'Images',
    operationId: 'createImageEdit',
    summary: 'Edit images, as OpenAI has it',
    description:
      'For clients of that API. The files are named `image`, or `image[]`: the first is the base, the others are layers ' +
      'or masks as in /image/multi-edit; there is no file `mask`. Models that take no size in pixels get the ratio of ' +
      `\`size\`, where they have a choice. ${OPENAI_FORM} \`background\`, \`input_fidelity\`, \`output_compression\` ` +
      'and `moderation` are accepted and have no effect, ' +
      `and a model that is not known here is answered for by the default one. ${PAID}`,
    answers: {
      200: {
        means: 'The edited image.',
        bodies: [{ schema: generationsAnswer }, { schema: dryRunCost }],
        headers: MODEL_HEADERS,
      },
    },
    errors: ERRORS,
    example: {
      before: A_CARD,
      form: { model: 'local-edit', prompt: 'black and white', image: '@$CARD' },
    },
  },
  styles: {
    group: 'Images',
    operationId: 'listImageStyles',
    summary: 'What style_preset takes',
    answers: { 200: { means: 'OK', bodies: [{ schema: stylesAnswer }] } },
    example: {},
  },
};

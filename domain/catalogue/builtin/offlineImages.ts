/** Local pictures: no key, no network, no learned model. Not in the published list; priced here. */
import { ASPECT_RATIOS } from '../../images/images.ts';
import { DEFAULT_CREATED, type ImageModel, type InpaintModel, type UpscaleModel } from '../model.ts';
import { price, prices } from './entry.ts';

const OURS = {
  privacy: 'private',
  modelSource: 'https://sharp.pixelplumbing.com',
  created: DEFAULT_CREATED,
} as const;

const LOCAL_EDIT: InpaintModel = {
  ...OURS,
  kind: 'inpaint',
  type: 'inpaint',
  id: 'local-edit',
  provider: 'local',
  upstreamModel: 'image-library',
  name: 'Local Edit',
  description:
    'Does on this machine what an image library can, in the order in which an English prompt names it: crop, resize, pad, ' +
    'rotate, flip, brighten, darken, warm, cool, contrast, saturation, black-and-white, sepia, tint, invert, blur, sharpen, ' +
    'pixelate, vignette, border, rounded corners, opacity, a "text" in quotation marks, and further images put over the ' +
    'first or used as a mask (white is where the following steps act; without any, what is kept). It does not see what the ' +
    'picture shows: a prompt that it does not understand completely is refused and costs nothing. Resolution 1K reduces ' +
    'the longer side to 1024 pixels at most and enlarges nothing; 2K and 4K set it to 2048 and 4096, unless the prompt ' +
    'names a size.',
  spec: {
    capabilities: { maxInputImages: 4 },
    constraints: {
      aspectRatios: ['auto', ...ASPECT_RATIOS],
      promptCharacterLimit: 2_000,
      resolutions: ['1K', '2K', '4K'],
      defaultResolution: '1K',
      combineImages: true,
      maxInputImages: 4,
    },
    pricing: { inpaint: price(0.002), resolutions: prices({ '1K': 0.002, '2K': 0.003, '4K': 0.006 }) },
  },
};

const LOCAL_UPSCALE_IMAGE: UpscaleModel = {
  ...OURS,
  kind: 'upscale',
  type: 'upscale',
  id: 'local-upscale-image',
  provider: 'local',
  upstreamModel: 'image-library',
  name: 'Local Image Upscale',
  description:
    'Enlarges a picture two to four times on this machine by Lanczos resampling and a mild sharpening. It invents no ' +
    'detail: a blurred source stays blurred, and "creativity" changes nothing.',
  spec: { pricing: { generation: price(0.002), upscale: prices({ '2x': 0.002, '4x': 0.006 }) } },
};

const SIMULATOR_IMAGE: ImageModel = {
  ...OURS,
  modelSource: '',
  kind: 'image',
  type: 'image',
  id: 'simulator-image',
  provider: 'simulator',
  upstreamModel: 'simulator-image',
  name: 'Simulator: test card',
  description:
    'For trying the API out: a deterministic test card of the ordered size that says that it is one. No image model: the ' +
    'prompt and the seed only decide the colours of its bars.',
  spec: {
    constraints: {
      aspectRatios: [...ASPECT_RATIOS],
      defaultAspectRatio: '1:1',
      promptCharacterLimit: 7_500,
      resolutions: ['1K', '2K', '4K'],
      defaultResolution: '1K',
      widthHeightDivisor: 8,
    },
    pricing: { resolutions: prices({ '1K': 0.0001, '2K': 0.0002, '4K': 0.0004 }) },
  },
};

export const OFFLINE_IMAGES: readonly (InpaintModel | UpscaleModel | ImageModel)[] = [
  LOCAL_EDIT,
  LOCAL_UPSCALE_IMAGE,
  SIMULATOR_IMAGE,
];

export const LOCAL_CUTOUT: ImageModel = {
  kind: 'image',
  type: 'image',
  imageUse: 'cutout',
  id: 'local-cutout',
  provider: 'local',
  upstreamModel: 'edge-colours',
  privacy: 'private',
  name: 'Local Cutout',
  description:
    'Removes the background of a picture on this machine, with no learned model: the colours along the edges of the ' +
    'picture are taken for the background, and what differs from them for the subject. It does not know what things are: ' +
    'it works where a clear subject stands before a plain background, and is weak on crowded scenes, on subjects that ' +
    'fill the picture, on hair and fur, and where both sides have the same colours. A picture in which no subject is ' +
    'found is refused and not charged.',
  modelSource: '',
  created: DEFAULT_CREATED,
  spec: { pricing: { generation: price(0.002) } },
};

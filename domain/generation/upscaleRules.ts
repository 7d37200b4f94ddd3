/** Fields of upscalers (VIDEO-1). `constraints.topaz` of an entry lists those that a model has. */
import { unsupported, type WrongField, wrongField } from './terms.ts';
import type { UpscaleFields } from './videoFields.ts';
import type { VideoNeeds } from './videoNeeds.ts';
import type { UpscaleOrder } from './videoOrder.ts';

const SLIDERS = {
  compression: 'compression',
  creativity: 'creativity',
  halo: 'halo',
  noise: 'noise',
  realism: 'realism',
  recover_detail: 'recoverDetail',
  sharp: 'sharp',
  grain: 'grain',
  softness: 'softness',
} as const satisfies Partial<Record<keyof UpscaleFields, keyof UpscaleOrder>>;

const SELECTS = {
  target_fps: 'targetFps',
  slowdown_factor: 'slowdownFactor',
  output_format: 'outputFormat',
} as const satisfies Partial<Record<keyof UpscaleFields, keyof UpscaleOrder>>;

const DEFAULT_FACTOR = 2;

export function orderUpscale(
  needs: VideoNeeds,
  fields: UpscaleFields,
): { ok: true; member: { upscale?: UpscaleOrder } } | WrongField {
  const takes = namesTaken(needs);
  const foreign = OWN_FIELDS.find((name) => fields[name] !== undefined && !takes.has(name));
  if (foreign !== undefined) return unsupported(foreign);
  if (!needs.upscales) return { ok: true, member: {} };
  const { topaz } = needs.constraints;
  const enhancementModel = fields.enhancement_model ?? topaz?.models[0];
  if (fields.enhancement_model !== undefined && !topaz?.models.includes(fields.enhancement_model)) {
    return wrongField('enhancement_model', `Must be one of ${topaz?.models.join(', ')} for this model`);
  }
  const onlyEnhances = enhancementModel !== undefined && topaz?.no_upscale_models?.includes(enhancementModel);
  const factor = fields.upscale_factor ?? (onlyEnhances ? 1 : DEFAULT_FACTOR);
  if (onlyEnhances && factor !== 1) {
    return wrongField('upscale_factor', `Must be 1 for the enhancement model ${enhancementModel}`);
  }
  const upscale: UpscaleOrder = {
    factor,
    ...(enhancementModel === undefined ? {} : { enhancementModel }),
    ...chosen(fields, SLIDERS),
    ...chosen(fields, SELECTS),
    ...(fields.h264_output === undefined ? {} : { h264Output: fields.h264_output }),
  };
  return { ok: true, member: { upscale } };
}

type Field = keyof UpscaleFields;

const OWN_FIELDS: readonly Field[] = [
  'upscale_factor',
  'enhancement_model',
  'h264_output',
  ...(Object.keys(SLIDERS) as Field[]),
  ...(Object.keys(SELECTS) as Field[]),
];

function namesTaken({ upscales, constraints: { topaz } }: VideoNeeds): ReadonlySet<string> {
  if (!upscales) return new Set();
  return new Set([
    'upscale_factor',
    ...(topaz === undefined ? [] : ['enhancement_model']),
    ...(topaz?.h264_output === true ? ['h264_output'] : []),
    ...(topaz?.sliders ?? []),
    ...(topaz?.selects ?? []),
  ]);
}

function chosen(fields: UpscaleFields, names: Partial<Record<Field, keyof UpscaleOrder>>): Partial<UpscaleOrder> {
  const members = Object.entries(names).map(([field, member]) => [member, fields[field as Field]]);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

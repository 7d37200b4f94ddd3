import { describe, expect, it } from 'vitest';
import { orderUpscale } from '../../../domain/generation/upscaleRules.ts';
import type { UpscaleFields } from '../../../domain/generation/videoFields.ts';
import { needsOf } from '../../../domain/generation/videoNeeds.ts';
import { type VideoEntry, video } from './models.ts';

const SLIDERS = [
  'compression',
  'creativity',
  'halo',
  'noise',
  'realism',
  'recover_detail',
  'sharp',
  'grain',
  'softness',
];
const SELECTS = ['target_fps', 'slowdown_factor', 'output_format'];
const TOPAZ: VideoEntry = {
  constraints: {
    topaz: {
      ...{ models: ['fine', 'clean'], no_upscale_models: ['clean'], h264_output: true },
      ...{ sliders: SLIDERS, selects: SELECTS },
    },
  },
  inputs: { upscale: true },
};
const PLAIN: VideoEntry = { inputs: { upscale: true } };

const EVERY_FIELD: Required<UpscaleFields> = {
  ...{ upscale_factor: 4, enhancement_model: 'fine', target_fps: 60, slowdown_factor: 2, compression: 0.1 },
  ...{ creativity: 0.2, halo: 0.3, noise: 0.4, realism: 0.5, recover_detail: 0.6, sharp: 0.7, grain: 0.05 },
  ...{ softness: 3, h264_output: true, output_format: 'prores' },
};

function order(entry: VideoEntry, fields: UpscaleFields) {
  return orderUpscale(needsOf(video(entry)), fields);
}

describe('the order of an upscaler', () => {
  it('contains every field of the model', () => {
    expect(order(TOPAZ, EVERY_FIELD)).toEqual({
      ok: true,
      member: {
        upscale: {
          ...{ factor: 4, enhancementModel: 'fine', targetFps: 60, slowdownFactor: 2, compression: 0.1 },
          ...{ creativity: 0.2, halo: 0.3, noise: 0.4, realism: 0.5, recoverDetail: 0.6, sharp: 0.7 },
          ...{ grain: 0.05, softness: 3, h264Output: true, outputFormat: 'prores' },
        },
      },
    });
  });

  it.each<[string, VideoEntry, UpscaleFields, object]>([
    ['doubles with the first model unless told', TOPAZ, {}, { factor: 2, enhancementModel: 'fine' }],
    ['doubles without a choice of models', PLAIN, {}, { factor: 2 }],
    ['may enhance only', TOPAZ, { upscale_factor: 1 }, { factor: 1, enhancementModel: 'fine' }],
    [
      'enhances only where its model does no more',
      TOPAZ,
      { enhancement_model: 'clean', upscale_factor: 1 },
      { factor: 1, enhancementModel: 'clean' },
    ],
    ['keeps a slider at its lowest', TOPAZ, { sharp: 0 }, { factor: 2, enhancementModel: 'fine', sharp: 0 }],
    [
      'keeps a refusal of H.264',
      TOPAZ,
      { h264_output: false },
      { factor: 2, enhancementModel: 'fine', h264Output: false },
    ],
  ])('%s', (_what, entry, fields, upscale) => {
    expect(order(entry, fields)).toEqual({ ok: true, member: { upscale } });
  });

  it.each(Object.keys(EVERY_FIELD))('refuses %s by name if the model does not have it', (field) => {
    const one = { [field]: EVERY_FIELD[field as keyof UpscaleFields] } as UpscaleFields;
    expect(order({}, one)).toMatchObject({ ok: false, field });
    if (field === 'upscale_factor') return;
    expect(order(PLAIN, one)).toMatchObject({ ok: false, field });
  });

  it.each<[string, UpscaleFields, string]>([
    ['a model that it does not have', { enhancement_model: 'coarse' }, 'enhancement_model'],
    [
      'an enlargement by a model that only enhances',
      { enhancement_model: 'clean', upscale_factor: 4 },
      'upscale_factor',
    ],
  ])('refuses %s', (_what, fields, field) => {
    expect(order(TOPAZ, fields)).toMatchObject({ ok: false, field });
  });

  it('is absent for models that do not upscale', () => {
    expect(order({}, {})).toEqual({ ok: true, member: {} });
  });
});

import { describe, expect, it } from 'vitest';
import { needsOf, type VideoNeeds } from '../../../domain/generation/videoNeeds.ts';
import { type VideoEntry, video } from './models.ts';

const TEXT: VideoNeeds = {
  ...needsOf(video()),
  ...{ prompt: 'required', image: 'none', endImage: 'none', audioInput: 'none', video: 'none' },
  ...{ bySource: false, upscales: false },
};

describe('accepted and mandatory inputs of a video model', () => {
  it.each<[string, VideoEntry, Partial<VideoNeeds>]>([
    ['words alone', {}, {}],
    ['an image for a model of images', { constraints: { model_type: 'image-to-video' } }, { image: 'required' }],
    [
      'an image that may be left out, where its entry says so',
      { constraints: { model_type: 'image-to-video' }, inputs: { image: 'optional' } },
      { image: 'optional' },
    ],
    ['a video, whose length it keeps', { constraints: { model_type: 'video' } }, { video: 'required', bySource: true }],
    [
      'a video that may be left out, whose length is asked for',
      { constraints: { video_input: true } },
      { video: 'optional', bySource: false },
    ],
    ['a sound track', { constraints: { audio_input: true } }, { audioInput: 'optional' }],
    ['an end image', { inputs: { endImage: 'required' } }, { endImage: 'required' }],
    ['no words, where its entry says so', { inputs: { prompt: 'none' } }, { prompt: 'none' }],
    [
      'a video without words, of an upscaler',
      { inputs: { upscale: true } },
      { video: 'required', prompt: 'none', bySource: true, upscales: true },
    ],
    [
      'words that an upscaler can use',
      { constraints: { topaz: { models: ['fine'], prompt: true } }, inputs: { upscale: true } },
      { video: 'required', prompt: 'optional', bySource: true, upscales: true },
    ],
  ])('%s', (_what, entry, needs) => {
    const { constraints, inputs } = needsOf(video(entry));
    expect(needsOf(video(entry))).toEqual({ ...TEXT, ...needs, constraints, inputs });
    expect(inputs).toEqual(entry.inputs ?? {});
  });

  it('are only a prompt for an entry without constraints, which then lists no choices', () => {
    const { spec: _, ...entry } = video();
    const needs = needsOf({ ...entry, spec: {} });
    expect(needs).toMatchObject({ prompt: 'required', image: 'none', video: 'none', bySource: false });
    expect(needs.constraints).toMatchObject({ durations: [], resolutions: [], aspect_ratios: [] });
  });
});

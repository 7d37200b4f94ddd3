/** Edge cases of the rules about media of an order; test/domain/generation/offerVideo.test.ts has one case of each. */
import { describe, expect, it } from 'vitest';
import type { VideoFields } from '../../../domain/generation/videoFields.ts';
import { wrongMedia } from '../../../domain/generation/videoMediaRules.ts';
import { needsOf } from '../../../domain/generation/videoNeeds.ts';
import { type VideoEntry, video } from './models.ts';

const URL = 'https://media.example.org/a.png';
const IMAGE = { constraints: { model_type: 'image-to-video' } } as const;
const urls = (count: number) => Array.from({ length: count }, (_, at) => `${URL}?${at}`);
const frames = (...indexes: number[]) => indexes.map((frame_index) => ({ image_url: URL, frame_index }));

function fieldOf(entry: VideoEntry, fields: VideoFields, durationSeconds: number | undefined = 5) {
  return wrongMedia(needsOf(video(entry)), fields, durationSeconds)?.field;
}

describe('single media', () => {
  it.each<[string, VideoEntry, VideoFields, string | undefined]>([
    ['an image where one is needed', IMAGE, { image_url: URL }, undefined],
    ['an optional image that is left out', { ...IMAGE, inputs: { image: 'optional' } }, {}, undefined],
    ['an optional sound track', { constraints: { audio_input: true } }, { audio_url: URL }, undefined],
    [
      'an end image that is needed',
      { ...IMAGE, inputs: { endImage: 'required' } },
      { image_url: URL },
      'end_image_url',
    ],
    [
      'an end image without a first one',
      { ...IMAGE, inputs: { image: 'optional', endImage: 'optional' } },
      { end_image_url: URL },
      'end_image_url',
    ],
    [
      'an end image of a model without first ones',
      { inputs: { endImage: 'optional' } },
      { end_image_url: URL },
      undefined,
    ],
    [
      'several faults, of which the first field is named',
      { inputs: { referenceImages: 1 } },
      { video_url: URL, reference_image_urls: urls(2) },
      'video_url',
    ],
  ])('%s', (_what, entry, fields, wrong) => {
    expect(fieldOf(entry, fields)).toBe(wrong);
  });
});

describe('lists of media', () => {
  const LISTS = [
    ['reference_image_urls', 'referenceImages', urls],
    ['reference_video_urls', 'referenceVideos', urls],
    ['reference_document_urls', 'referenceDocuments', urls],
    ['scene_image_urls', 'sceneImages', urls],
    ['elements', 'elements', (count: number) => urls(count).map((url) => ({ video_url: url }))],
    ['keyframes', 'keyframes', (count: number) => frames(...urls(count).keys())],
  ] as const;

  it.each(LISTS)("%s: accepts up to the model's maximum", (field, input, make) => {
    const entry = { inputs: { [input]: 3 } };
    expect(fieldOf(entry, { [field]: make(3) })).toBeUndefined();
    expect(fieldOf(entry, { [field]: make(4) })).toBe(field);
    expect(fieldOf({}, { [field]: make(1) })).toBe(field);
    expect(fieldOf({}, { [field]: [] })).toBe(field);
    expect(fieldOf({ inputs: { [input]: 0 } }, { [field]: make(1) })).toBe(field);
  });

  it.each<[string, VideoFields, string | undefined]>([
    ['alone', {}, 'reference_audio_urls'],
    ['beside an empty list', { reference_image_urls: [] }, 'reference_audio_urls'],
    ['beside a reference image', { reference_image_urls: urls(1) }, undefined],
    ['beside a reference video', { reference_video_urls: urls(1) }, undefined],
    ['beside an image that is no reference', { image_url: URL }, 'reference_audio_urls'],
  ])('reference sounds need a visual reference: %s', (_what, fields, wrong) => {
    const inputs = { image: 'optional', referenceImages: 4, referenceVideos: 4, referenceAudios: 2 } as const;
    expect(fieldOf({ ...IMAGE, inputs }, { reference_audio_urls: urls(2), ...fields })).toBe(wrong);
  });
});

describe('elements', () => {
  it.each<[VideoFields['elements'], string | undefined]>([
    [[{ frontal_image_url: URL }], undefined],
    [[{ video_url: URL }], undefined],
    [[{ reference_image_urls: [URL] }], 'elements.0'],
    [[{ video_url: URL }, {}], 'elements.1'],
    [[{}, {}], 'elements.0'],
  ])('%j: the first without a medium is %s', (elements, wrong) => {
    expect(fieldOf({ inputs: { elements: 4 } }, { elements })).toBe(wrong);
  });
});

describe('key frames', () => {
  it.each<[number[], number | undefined, string | undefined]>([
    [[0], 5, undefined],
    [[120], 5, undefined],
    [[121], 5, 'keyframes.0.frame_index'],
    [[0, 60, 121], 5, 'keyframes.2.frame_index'],
    [[60, 0], 5, undefined],
    [[7, 8, 7], 5, 'keyframes.2.frame_index'],
    [[1_000_000], undefined, undefined],
    [[24], 1, undefined],
    [[25], 1, 'keyframes.0.frame_index'],
  ])('at %j of %s s: %s', (indexes, durationSeconds, wrong) => {
    const needs = needsOf(video({ inputs: { keyframes: 9 } }));
    expect(wrongMedia(needs, { keyframes: frames(...indexes) }, durationSeconds)?.field).toBe(wrong);
  });
});

describe('the path of a camera', () => {
  const ENTRY: VideoEntry = { ...IMAGE, inputs: { cameraTrajectory: true } };
  const path = (...points: [time: number, azimuth: number][]) =>
    points.map(([time, azimuth]) => ({ time, azimuth, elevation: 0, distance: 1 }));
  const TURN = 360;

  it.each<[string, VideoFields['camera_trajectory'], string | undefined]>([
    ['that is a single point', path([0, 0]), undefined],
    ['that is empty', [], undefined],
    ['that goes forward', path([0, 0], [0.5, 90], [1, -90]), undefined],
    ['that stands still in time', path([0, 0], [0, 90]), 'camera_trajectory.1.time'],
    ['that goes back in time', path([0, 0], [0.6, 1], [0.5, 2]), 'camera_trajectory.2.time'],
    ['of 32 turns', path([0, 0], [1, 32 * TURN]), undefined],
    ['of a degree more', path([0, 0], [1, 32 * TURN + 1]), 'camera_trajectory'],
    ['of 32 turns there and back', path([0, 0], [0.5, 16 * TURN], [1, 0]), undefined],
    ['of more turns there and back', path([0, 0], [0.5, -17 * TURN], [1, 0]), 'camera_trajectory'],
    ['that begins elsewhere', path([0, 90 * TURN], [1, 91 * TURN]), undefined],
  ])('%s', (_what, camera_trajectory, wrong) => {
    expect(fieldOf(ENTRY, { image_url: URL, camera_trajectory })).toBe(wrong);
  });
});

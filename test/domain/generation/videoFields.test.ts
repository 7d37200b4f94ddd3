import { describe, expect, it } from 'vitest';
import { fieldOf, kindOfRole, MEDIA_ROLES } from '../../../domain/generation/media.ts';
import { limitsOfRole } from '../../../domain/generation/mediaLimits.ts';
import { mediaOf, type VideoFields } from '../../../domain/generation/videoFields.ts';

const EVERYTHING: VideoFields = {
  prompt: 'a tram at dawn',
  image_url: 'u:image',
  end_image_url: 'u:end',
  audio_url: 'u:audio',
  video_url: 'u:video',
  reference_image_urls: ['u:ri0', 'u:ri1'],
  reference_video_urls: ['u:rv0'],
  reference_audio_urls: ['u:ra0'],
  reference_document_urls: ['u:rd0'],
  scene_image_urls: ['u:s0', 'u:s1'],
  elements: [
    { frontal_image_url: 'u:e0f', reference_image_urls: ['u:e0r0', 'u:e0r1'], video_url: 'u:e0v' },
    { video_url: 'u:e1v' },
  ],
  keyframes: [
    { image_url: 'u:k0', frame_index: 12 },
    { image_url: 'u:k1', frame_index: 0 },
  ],
};

describe('the media of an order', () => {
  it('occur once each, named after the field that they came in', () => {
    const media = mediaOf(EVERYTHING);
    expect(media.map((medium) => [fieldOf(medium), medium.url])).toEqual([
      ['image_url', 'u:image'],
      ['end_image_url', 'u:end'],
      ['audio_url', 'u:audio'],
      ['video_url', 'u:video'],
      ['reference_image_urls[0]', 'u:ri0'],
      ['reference_image_urls[1]', 'u:ri1'],
      ['reference_video_urls[0]', 'u:rv0'],
      ['reference_audio_urls[0]', 'u:ra0'],
      ['reference_document_urls[0]', 'u:rd0'],
      ['scene_image_urls[0]', 'u:s0'],
      ['scene_image_urls[1]', 'u:s1'],
      ['elements[0].frontal_image_url', 'u:e0f'],
      ['elements[0].reference_image_urls[0]', 'u:e0r0'],
      ['elements[0].reference_image_urls[1]', 'u:e0r1'],
      ['elements[0].video_url', 'u:e0v'],
      ['elements[1].video_url', 'u:e1v'],
      ['keyframes[0].image_url', 'u:k0'],
      ['keyframes[1].image_url', 'u:k1'],
    ]);
    expect(new Set(media.map(({ role }) => role))).toEqual(new Set(MEDIA_ROLES));
  });

  it('have distinct places, so that no two share a file', () => {
    const places = mediaOf(EVERYTHING).map(({ role, index, element }) => `${role} ${index} ${element}`);
    expect(new Set(places).size).toBe(places.length);
  });

  it.each<[string, VideoFields]>([
    ['nothing', {}],
    ['words alone', { prompt: 'a tram', duration: '5s' }],
    ['empty lists', { reference_image_urls: [], elements: [], keyframes: [], scene_image_urls: [] }],
    ['elements of nothing', { elements: [{}, { reference_image_urls: [] }] }],
  ])('are empty for an order of %s', (_what, fields) => {
    expect(mediaOf(fields)).toEqual([]);
  });
});

describe('the limits of a medium', () => {
  const MB = 1024 * 1024;
  it.each(MEDIA_ROLES)('of role %s are those published for its kind', (role) => {
    const limits = limitsOfRole(role);
    const published = {
      image: { kind: 'image', maxBytes: 25 * MB, minPixels: 65_536, maxPixels: 33_177_600 },
      audio: { kind: 'audio', maxBytes: 15 * MB, maxSeconds: 30, accepted: ['wav', 'mp3'] },
      document: { kind: 'document', maxBytes: 25 * MB },
      video: { kind: 'video', maxBytes: 50 * MB, minSeconds: 2, maxSeconds: 15 },
    }[kindOfRole(role)];
    const source = { kind: 'video', maxBytes: 500 * MB, maxSeconds: 300 };
    expect(limits).toMatchObject(role === 'video' ? source : published);
    if (role === 'video') expect(limits).not.toHaveProperty('minSeconds');
  });
});

import { describe, expect, it } from 'vitest';
import { fieldOf, kindOfRole, MEDIA_ROLES, type MediaPlace } from '../../../domain/generation/media.ts';
import { limitsOfRole } from '../../../domain/generation/mediaLimits.ts';

const FIELDS: [MediaPlace, string][] = [
  [{ role: 'image', index: 0 }, 'image_url'],
  [{ role: 'end_image', index: 0 }, 'end_image_url'],
  [{ role: 'audio', index: 0 }, 'audio_url'],
  [{ role: 'video', index: 0 }, 'video_url'],
  [{ role: 'reference_image', index: 29 }, 'reference_image_urls[29]'],
  [{ role: 'reference_video', index: 2 }, 'reference_video_urls[2]'],
  [{ role: 'reference_audio', index: 0 }, 'reference_audio_urls[0]'],
  [{ role: 'reference_document', index: 0 }, 'reference_document_urls[0]'],
  [{ role: 'scene_image', index: 3 }, 'scene_image_urls[3]'],
  [{ role: 'element_frontal_image', index: 0, element: 0 }, 'elements[0].frontal_image_url'],
  [{ role: 'element_reference_image', index: 2, element: 3 }, 'elements[3].reference_image_urls[2]'],
  [{ role: 'element_video', index: 0, element: 1 }, 'elements[1].video_url'],
  [{ role: 'keyframe', index: 3 }, 'keyframes[3].image_url'],
];

describe('a medium of an order', () => {
  it('is named after the field that it came in, whatever its role', () => {
    expect(FIELDS.map(([{ role }]) => role)).toEqual([...MEDIA_ROLES]);
    for (const [place, field] of FIELDS) expect(fieldOf(place)).toBe(field);
  });

  it('has the limits of its kind in every role', () => {
    for (const role of MEDIA_ROLES) expect(limitsOfRole(role).kind, role).toBe(kindOfRole(role));
  });
});

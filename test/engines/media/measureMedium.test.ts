import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { MediaPlace } from '../../../domain/generation/media.ts';
import { limitsOfRole, type MediaLimits } from '../../../domain/generation/mediaLimits.ts';
import { measureMedium } from '../../../engines/media/measureMedium.ts';
import { picture } from './pictureFiles.ts';
import { ENCODINGS, encode, mediaTools, testFolder } from './recordings.ts';
import { video } from './videoFiles.ts';

// A test takes about a second, and longer on a busy machine.

const folder = testFolder();
afterAll(() => rmSync(folder, { recursive: true }));

function measure(place: MediaPlace, path: string, limits?: MediaLimits) {
  return measureMedium(mediaTools(), place, { path, limits: limits ?? limitsOfRole(place.role) });
}

function file(name: string, content: Buffer | string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function recording(name: string, seconds: number): string {
  const encoding = ENCODINGS.find((each) => each.name === name);
  if (encoding === undefined) throw new Error(name);
  return encode(encoding, { folder, seconds, sampleRate: 16_000 });
}

describe('a measured medium of an order', () => {
  it('may be an image', async () => {
    const path = file('a.jpg', picture(folder, 'jpg', { width: 400, height: 300 }));
    const place = { role: 'keyframe', index: 3 } as const;
    const found = { kind: 'image', contentType: 'image/jpeg', demuxer: 'jpeg_pipe', width: 400, height: 300 };
    expect(await measure(place, path)).toEqual({ ok: true, medium: { ...place, ...found } });
  });

  it('may be a video', async () => {
    const path = video('mp4', { folder, name: 'clip' });
    const outcome = await measure({ role: 'element_video', index: 0, element: 2 }, path);
    expect(outcome.ok && outcome.medium).toMatchObject({
      ...{ role: 'element_video', element: 2, kind: 'video', contentType: 'video/mp4', demuxer: 'mov' },
      ...{ width: 320, height: 240, hasAudio: true },
    });
    expect(outcome.ok && outcome.medium).not.toHaveProperty('audioSeconds');
  });

  it('may be a recording of half a minute and the padding of its encoder', async () => {
    const place = { role: 'audio', index: 0 } as const;
    const outcome = await measure(place, recording('mp3', 30));
    expect(outcome.ok && outcome.medium.seconds).toBeCloseTo(30, 0);
    expect(await measure(place, recording('mp3', 30.5))).toEqual({
      ...{ ok: false, code: 'media_too_long' },
      message: 'audio_url: The audio is longer than 30 seconds.',
      fields: { audio_url: ['The audio is longer than 30 seconds.'] },
    });
    expect((await measure(place, recording('wav', 3))).ok).toBe(true);
  });

  it('may be a document, recognised by its signature', async () => {
    const place = { role: 'reference_document', index: 0 } as const;
    const pdf = await measure(place, file('a', '%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n'));
    expect(pdf.ok && pdf.medium).toEqual({ ...place, kind: 'document', contentType: 'application/pdf' });
    const text = await measure(place, file('b', 'A man walks in.\n'));
    expect(text.ok && text.medium.contentType).toBe('text/plain');
  });
});

describe('refusals by the type of the file, not by its name', () => {
  const NOT_A_VIDEO = 'The video format is not accepted. Accepted formats: MP4, MOV, WebM, MKV.';
  const PAGE = '<!doctype html><title>Not found</title>';
  const CASES: [MediaPlace, string | Buffer, string][] = [
    [{ role: 'image', index: 0 }, PAGE, 'image_url: The image format is not accepted.'],
    [{ role: 'reference_video', index: 2 }, PAGE, `reference_video_urls[2]: ${NOT_A_VIDEO}`],
    [{ role: 'video', index: 0 }, '', 'video_url: The video file is empty.'],
    [{ role: 'reference_audio', index: 1 }, '', 'reference_audio_urls[1]: The audio file is empty.'],
    [{ role: 'reference_audio', index: 1 }, PAGE, 'reference_audio_urls[1]: The audio format is not'],
    [{ role: 'element_frontal_image', index: 0, element: 0 }, PAGE, 'elements[0].frontal_image_url: The image'],
    [{ role: 'reference_document', index: 0 }, Buffer.from([0, 1, 2, 3, 4]), 'reference_document_urls[0]: The'],
    [{ role: 'reference_document', index: 0 }, 'PK\x03\x04 no document', 'reference_document_urls[0]: The doc'],
  ];
  for (const [place, content, words] of CASES) {
    it(`${words}`, async () => {
      const outcome = await measure(place, file('any.mp4', content));
      expect(outcome.ok ? 'accepted' : outcome.code).toBe('invalid_media');
      expect(outcome.ok ? '' : outcome.message.slice(0, words.length)).toBe(words);
    });
  }

  it('name the field of a file with too many bytes', async () => {
    const limits = { kind: 'document', maxBytes: 1024 * 1024 } as const;
    const large = file('large', 'x'.repeat(1024 * 1024 + 1));
    expect(await measure({ role: 'reference_document', index: 0 }, large, limits)).toEqual({
      ...{ ok: false, code: 'payload_too_large' },
      message: 'reference_document_urls[0]: The document is larger than 1 MB.',
      fields: { 'reference_document_urls[0]': ['The document is larger than 1 MB.'] },
    });
  });
});

it('throws for limits of another kind as a programming error', async () => {
  const limits = limitsOfRole('video');
  await expect(measure({ role: 'image', index: 0 }, file('x', 'x'), limits)).rejects.toThrow(TypeError);
});

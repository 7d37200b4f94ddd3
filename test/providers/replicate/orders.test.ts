import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { MediaRole } from '../../../domain/generation/media.ts';
import type { UpscaleOrder } from '../../../domain/generation/videoOrder.ts';
import type { AudioRequest, MediaFile, VideoRequest } from '../../../providers/shared/provider.ts';
import { OWN_VERSION } from '../../stubs/replicate/models.ts';
import { type ReplicateStub, startReplicateStub } from '../../stubs/replicate/replicate.ts';
import { type Caller, createCaller, film, song } from './callReplicate.ts';

let stub: ReplicateStub;
let caller: Caller;
beforeAll(async () => {
  caller = await createCaller(() => stub);
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startReplicateStub();
});
afterEach(() => stub.close());

/** The content of each medium is its name, so that a table can name its place in the order. */
const addressOf = (type: string, name: string) => `data:${type};base64,${Buffer.from(name).toString('base64')}`;
const png = (name: string) => addressOf('image/png', name);
const audio = (name: string) => addressOf('audio/mpeg', name);
const video = (name: string) => addressOf('video/mp4', name);

interface Given extends Partial<MediaFile> {
  role: MediaRole;
  name: string;
}

const media = (given: Given[]) =>
  Promise.all(given.map(({ role, name, ...change }) => caller.medium(role, Buffer.from(name), change)));

type Films = Partial<Omit<VideoRequest, 'media' | 'kind'>> & { given?: Given[] };

async function ordered({ given = [], ...change }: Films) {
  return await caller.start(film({ ...change, media: await media(given) }));
}

describe('a song', () => {
  it.each<[string, Partial<AudioRequest>, Record<string, unknown>]>([
    ['minimax/music-1.5', { lyrics: '[verse] la', forceInstrumental: false }, { lyrics: '[verse] la' }],
    ['google/lyria-2', { loop: false, speed: 1 }, {}],
    ['stability-ai/stable-audio-2.5', { durationSeconds: 30 }, { duration: 30 }],
    [
      `acme/anything:${OWN_VERSION}`,
      {
        lyrics: 'la',
        durationSeconds: 30,
        forceInstrumental: false,
        lyricsOptimizer: true,
        loop: true,
        voice: 'Aria',
        languageCode: 'en',
        speed: 1.5,
      },
      {
        lyrics_prompt: 'la',
        duration_seconds: 30,
        force_instrumental: false,
        lyrics_optimizer: true,
        loop: true,
        voice: 'Aria',
        language_code: 'en',
        speed: 1.5,
      },
    ],
  ])("for %s is sent in the model's own fields", async (upstreamModel, order, input) => {
    expect(await caller.start(song({ upstreamModel, ...order }))).toMatchObject({ status: 'running' });
    expect(stub.predictions[0]?.input).toEqual({ prompt: 'a slow waltz', ...input });
  });
});

const source = { role: 'video', name: 'V', width: 854, height: 480, framesPerSecond: 23.976 } as const;
const image = { role: 'image', name: 'I' } as const;
const end = { role: 'end_image', name: 'E' } as const;

const FILMS: [string, Films, Record<string, unknown>][] = [
  [
    'wan-video/wan-2.5-t2v',
    { resolution: '720p', aspectRatio: '9:16', durationSeconds: 10, given: [{ role: 'audio', name: 'A' }] },
    { size: '720*1280', duration: 10, audio: audio('A') },
  ],
  ['wan-video/wan-2.5-t2v', { negativePrompt: 'fog' }, { size: '1280*720', negative_prompt: 'fog' }],
  ['wan-video/wan-2.5-i2v', { resolution: '1080p', given: [image] }, { resolution: '1080p', image: png('I') }],
  [
    'kwaivgi/kling-v2.1',
    { resolution: '1080p', durationSeconds: 5, given: [end, image] },
    { mode: 'pro', duration: 5, start_image: png('I'), end_image: png('E') },
  ],
  ['google/veo-3', { audio: false, durationSeconds: 8 }, { generate_audio: false, duration: 8 }],
  [
    'google/veo-3.1',
    {
      aspectRatio: '16:9',
      given: [
        { role: 'reference_image', name: 'second', index: 1 },
        { role: 'reference_image', name: 'first', index: 0 },
        end,
      ],
    },
    { aspect_ratio: '16:9', reference_images: [png('first'), png('second')], last_frame: png('E') },
  ],
  [
    'bytedance/seedance-1-pro',
    { durationSeconds: 12, resolution: '480p', aspectRatio: '21:9', bitrateMode: 'standard', given: [image] },
    { duration: 12, resolution: '480p', aspect_ratio: '21:9', image: png('I') },
  ],
  [
    'bytedance/seedance-2.0',
    {
      given: [
        { role: 'reference_video', name: 'R' },
        { role: 'reference_audio', name: 'S' },
      ],
    },
    { duration: -1, reference_videos: [video('R')], reference_audios: [audio('S')] },
  ],
  ['bytedance/seedance-2.0', { durationSeconds: 4, audio: true }, { duration: 4, generate_audio: true }],
];

describe('a video', () => {
  it.each(FILMS)("for %s is sent in the model's own fields", async (upstreamModel, order, input) => {
    expect(await ordered({ upstreamModel, ...order })).toMatchObject({ status: 'running' });
    expect(stub.predictions[0]?.input).toEqual({ prompt: 'a lighthouse', ...input });
  });

  it.each<[string, UpscaleOrder, Partial<MediaFile>, Record<string, unknown>]>([
    ['480 lines twice', { factor: 2 }, {}, { target_resolution: '1080p', target_fps: 24 }],
    ['480 lines once', { factor: 1, slowdownFactor: 1 }, {}, { target_resolution: '720p', target_fps: 24 }],
    [
      'upright 480 lines twice',
      { factor: 2 },
      { width: 480, height: 854 },
      { target_resolution: '1080p', target_fps: 24 },
    ],
    [
      '480 lines four times',
      { factor: 4, targetFps: 60, outputFormat: 'mp4' },
      {},
      { target_resolution: '4k', target_fps: 60 },
    ],
    ['three frames a second', { factor: 2 }, { framesPerSecond: 3 }, { target_resolution: '1080p', target_fps: 15 }],
  ])('of %s is enlarged to the smallest target that contains it', async (_, upscale, change, input) => {
    const given = [{ ...source, ...change }];
    const { prompt: _prompt, ...order } = film({
      upstreamModel: 'topazlabs/video-upscale',
      upscale,
      media: await media(given),
    });
    expect(await caller.start(order)).toMatchObject({ status: 'running' });
    expect(stub.predictions[0]?.input).toEqual({ video: video('V'), ...input });
  });

  it.each<[string, Films, string]>([
    ['google/veo-3', { given: [end] }, 'The model does not support end_image_url.'],
    [
      'wan-video/wan-2.5-t2v',
      { aspectRatio: '1:1' },
      'The model does not have this combination of resolution and aspect_ratio.',
    ],
    ['kwaivgi/kling-v2.1', { resolution: '4k' }, 'The model does not have this combination of resolution.'],
    ['bytedance/seedance-1-pro', { bitrateMode: 'high' }, 'The model does not support bitrate_mode.'],
  ])('for %s with an unsupported field is refused before anything is sent', async (upstreamModel, order, message) => {
    expect(await ordered({ upstreamModel, ...order })).toMatchObject({
      reason: 'refused',
      message,
    });
    expect(stub.requests).toEqual([]);
  });

  it('for any other model is sent in the fields of our API', async () => {
    const cameraTrajectory = [{ time: 0, azimuth: 0, elevation: 0, distance: 1 }];
    await ordered({
      upstreamModel: `acme/anything:${OWN_VERSION}`,
      durationSeconds: 5,
      audio: true,
      omniReferenceTask: 'edit',
      cameraTrajectory,
      keyframes: [{ frameIndex: 0 }, { frameIndex: 24 }],
      given: [
        image,
        { role: 'reference_document', name: 'D' },
        { role: 'scene_image', name: 'S' },
        { role: 'keyframe', name: 'K1', index: 1 },
        { role: 'keyframe', name: 'K0', index: 0 },
        { role: 'element_frontal_image', name: 'F1', element: 1 },
        { role: 'element_frontal_image', name: 'F0', element: 0 },
        { role: 'element_reference_image', name: 'R0', element: 0 },
        { role: 'element_video', name: 'V1', element: 1 },
      ],
    });
    expect(stub.predictions[0]?.input).toEqual({
      prompt: 'a lighthouse',
      duration: 5,
      audio: true,
      omni_reference_task_type: 'edit',
      camera_trajectory: cameraTrajectory,
      image_url: png('I'),
      reference_document_urls: [addressOf('text/plain', 'D')],
      scene_image_urls: [png('S')],
      keyframes: [
        { image_url: png('K0'), frame_index: 0 },
        { image_url: png('K1'), frame_index: 24 },
      ],
      elements: [
        { frontal_image_url: png('F0'), reference_image_urls: [png('R0')] },
        { frontal_image_url: png('F1'), video_url: video('V1') },
      ],
    });
  });
});

describe('a medium of an order', () => {
  const MAX_DATA_URL = 256 * 1024;
  const own = `acme/anything:${OWN_VERSION}`;

  async function withMedia(...files: MediaFile[]) {
    return await caller.start(film({ upstreamModel: own, media: files }));
  }

  it('is part of the order up to 256 kB, and an uploaded file above', async () => {
    const small = await caller.medium('image', Buffer.alloc(MAX_DATA_URL, 1));
    const bytes = Buffer.alloc(MAX_DATA_URL + 1, 2);
    const large = await caller.medium('video', bytes, { contentType: 'video/quicktime' });
    expect(await withMedia(small, large)).toMatchObject({ status: 'running' });
    expect(stub.files).toMatchObject([{ id: 'f1', name: 'video.mov', contentType: 'video/quicktime' }]);
    expect(stub.files[0]?.bytes.equals(bytes)).toBe(true);
    expect(stub.predictions[0]?.input).toMatchObject({
      image_url: expect.stringMatching(/^data:image\/png;base64,AQEB/),
      video_url: `${stub.baseUrl}/v1/files/f1`,
    });
  });

  it('is uploaded when many small ones together would make the order large', async () => {
    const files = Array.from({ length: 10 }, (_, index) =>
      caller.medium('reference_image', Buffer.alloc(MAX_DATA_URL, 1), { index }),
    );
    expect(await withMedia(...(await Promise.all(files)))).toMatchObject({ status: 'running' });
    expect(stub.files).toHaveLength(2);
  });

  it('larger than the service accepts is refused before anything is sent', async () => {
    const huge = await caller.medium('video', Buffer.from('V'), { sizeBytes: 100 * 1024 * 1024 });
    expect(await withMedia(huge)).toMatchObject({
      reason: 'refused',
      message: 'The video is too large for the model: at most 100 MB are taken.',
    });
    expect(stub.requests).toEqual([]);
  });

  const html = '<html>Bad gateway</html>';
  it.each([
    ['is lost', { kind: 'lost' } as const, { status: 'busy', reason: 'overloaded' }],
    ['is not answered', { kind: 'hang' } as const, { status: 'busy', reason: 'overloaded' }],
    ['meets a gateway', { kind: 'reply', status: 502, body: html } as const, { status: 'busy' }],
    ['is throttled', { kind: 'reply', status: 429, body: { detail: 'slow' } } as const, { status: 'busy' }],
    ['is not ours', { kind: 'reply', status: 401, body: { title: 'No' } } as const, { reason: 'credential' }],
    [
      'is too large',
      { kind: 'reply', status: 413, body: { detail: 'Files must be less than 100MB in size' } } as const,
      { reason: 'refused', message: 'Files must be less than 100MB in size' },
    ],
    ['has no address', { kind: 'reply', status: 201, body: { id: 'f1' } } as const, { reason: 'failed' }],
  ])('is not ordered when its upload %s', async (_, fault, outcome) => {
    stub.faults.push({ at: 'POST /v1/files', fault });
    const large = await caller.medium('video', Buffer.alloc(MAX_DATA_URL + 1));
    expect(await withMedia(large)).toMatchObject(outcome);
    expect(stub.predictions).toEqual([]);
  });
});

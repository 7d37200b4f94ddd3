import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { createFalClient } from '@fal-ai/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FalStub, startFalStub } from '../../stubs/fal/fal.ts';
import { CHUNKS } from '../../stubs/fal/media.ts';
import {
  createMediaCaller,
  cutout,
  edit,
  enlargement,
  type MediaCaller,
  picture,
  sample,
  speech,
  transcription,
} from '../mediaOrders.ts';
import { falMedia } from './callFalMedia.ts';

let stub: FalStub;
let caller: MediaCaller;
beforeAll(async () => {
  caller = await createMediaCaller('fal');
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startFalStub();
});
afterEach(() => stub.close());

const lastInput = () => stub.orders.at(-1)?.input;

describe("the stub, called by the service's own client", () => {
  const client = () => {
    const rerouted: typeof fetch = (input, init) => {
      const { pathname, search } = new URL(String(input));
      return fetch(new URL(`${pathname}${search}`, stub.baseUrl), init);
    };
    return createFalClient({ credentials: stub.apiKey, fetch: rerouted, retry: { maxRetries: 0 } });
  };

  it('makes as many images as ordered and flags those that it considers adult', async () => {
    const { data } = await client().subscribe('fal-ai/z-image/turbo', {
      input: { prompt: 'a bare wall', num_images: 2 },
      pollInterval: 1,
    });
    expect(data.images).toHaveLength(2);
    expect(data.has_nsfw_concepts).toEqual([true, true]);
    const bytes = await (await fetch(data.images[0]?.url ?? '')).arrayBuffer();
    expect(Buffer.from(bytes).subarray(1, 4).toString()).toBe('PNG');
  });

  it('transcribes, speaks and clones', async () => {
    const audio_url = await client().storage.upload(new Blob(['RIFF'], { type: 'audio/wav' }));
    const heard = await client().subscribe('fal-ai/wizper', { input: { audio_url }, pollInterval: 1 });
    expect(heard.data).toMatchObject({ text: expect.any(String), chunks: CHUNKS });
    const input = { text: 'hello', audio_setting: { format: 'flac' } } as const;
    const said = await client().subscribe('fal-ai/minimax/speech-02-hd', { input, pollInterval: 1 });
    expect(await (await fetch(said.data.audio.url)).text()).toContain('fLaC');
    const voice = await client().subscribe('fal-ai/minimax/voice-clone', {
      input: { audio_url },
      pollInterval: 1,
    });
    expect(voice.data.custom_voice_id).toMatch(/^Voice/);
  });

  it('refuses a field that the model does not know', async () => {
    const input = { prompt: 'a wall', imagesize: 'square' } as { prompt: string };
    const work = client().subscribe('fal-ai/z-image/turbo', { input, pollInterval: 1 });
    await expect(work).rejects.toMatchObject({ status: 422 });
  });
});

describe('images', () => {
  const make = async (change: Parameters<typeof picture>[0]) =>
    falMedia(stub).makeImages(picture(change), await caller.context());

  it('are saved to the work folder, as many as ordered', async () => {
    const context = await caller.context();
    const order = picture({
      upstreamModel: 'fal-ai/z-image/turbo',
      count: 3,
      seed: 5,
      steps: 8,
      format: 'webp',
    });
    const made = await falMedia(stub).makeImages(order, context);
    expect(made).toHaveLength(3);
    for (const { path, contentType, isBlurred } of made) {
      expect({ contentType, isBlurred }).toEqual({ contentType: 'image/png', isBlurred: undefined });
      expect(path.startsWith(context.workFolder)).toBe(true);
      expect((await readFile(path)).length).toBeGreaterThan(50);
    }
    expect(new Set(made.map(({ path }) => path)).size).toBe(3);
    expect(lastInput()).toEqual({
      prompt: order.prompt,
      num_images: 3,
      seed: 5,
      num_inference_steps: 8,
      output_format: 'webp',
      enable_safety_checker: true,
    });
    expect(stub.orders[0]?.headers).toMatchObject({ 'x-fal-store-io': '0' });
  });

  it('are marked when the service considers them adult, unless its check is turned off', async () => {
    const order = { upstreamModel: 'fal-ai/z-image/turbo', prompt: 'bare' };
    expect(await make(order)).toMatchObject([{ isBlurred: true }]);
    const [free] = await make({ ...order, safeMode: false });
    expect(free?.isBlurred).toBeUndefined();
  });

  it('of a model that makes one at a time are ordered one by one, each with its own seed', async () => {
    expect(await make({ upstreamModel: 'fal-ai/flux-2-pro', count: 2, seed: 9 })).toHaveLength(2);
    expect(stub.orders.map(({ input }) => Number(input.seed)).sort((a, b) => a - b)).toEqual([9, 10]);
  });

  it.each([
    ['fal-ai/qwen-image', { width: 640, height: 480 }, { image_size: { width: 640, height: 480 } }],
    ['fal-ai/qwen-image', { aspectRatio: '16:9' }, { image_size: { width: 1360, height: 768 } }],
    ['fal-ai/qwen-image', { aspectRatio: '1:1', resolution: '2K' }, { image_size: { width: 2048, height: 2048 } }],
    ['fal-ai/qwen-image', { guidance: 4, negativePrompt: 'no' }, { guidance_scale: 4, negative_prompt: 'no' }],
    ['fal-ai/qwen-image', { format: 'webp' }, { output_format: 'png' }],
    ['fal-ai/qwen-image', { style: 'Anime' }, { prompt: expect.stringMatching(/Style: Anime\.$/) }],
    ['fal-ai/nano-banana-2', { width: 1280, height: 720 }, { aspect_ratio: '16:9' }],
    ['fal-ai/nano-banana-2', { aspectRatio: '4:5', resolution: '4K' }, { aspect_ratio: '4:5', resolution: '4K' }],
    ['fal-ai/nano-banana-2', { searchesWeb: true }, { enable_web_search: true, safety_tolerance: '2' }],
    [
      'fal-ai/nano-banana-2',
      { skipsThinking: true, safeMode: false },
      { thinking_level: 'minimal', safety_tolerance: '6' },
    ],
  ] as const)('of %s: sends %o as %o', async (upstreamModel, change, input) => {
    await make({ upstreamModel, ...change });
    expect(lastInput()).toMatchObject(input);
  });

  it('with style references are refused before anything is ordered', async () => {
    const styleReferences = [{ image: await caller.image(), strength: 0.5 }];
    const work = make({ upstreamModel: 'fal-ai/z-image/turbo', styleReferences });
    await expect(work).rejects.toMatchObject({ reason: 'refused', words: expect.stringContaining('style') });
    expect(stub.orders).toHaveLength(0);
  });
});

describe('an edit', () => {
  it('sends its images in their order and keeps the ratio of the base unless the order names another', async () => {
    const images = [await caller.image(32, 16), await caller.image(8, 8)];
    const order = edit({ upstreamModel: 'fal-ai/flux-2-max/edit', images });
    const { editImage } = falMedia(stub);
    expect(await editImage(order, await caller.context())).toMatchObject({ contentType: 'image/png' });
    const stored = stub.storage.files.map(({ name }) => name).sort();
    expect(stored).toEqual(['image-0.png', 'image-1.png']);
    expect(lastInput()?.image_urls).toHaveLength(2);
    expect(lastInput()).not.toHaveProperty('image_size');
    const urls = (lastInput()?.image_urls ?? []) as string[];
    const bytes = await Promise.all(urls.map(async (url) => (await (await fetch(url)).arrayBuffer()).byteLength));
    expect(bytes).toEqual(await Promise.all(images.map(async ({ path }) => (await readFile(path)).length)));
    await editImage({ ...order, resolution: '2K' }, await caller.context());
    expect(lastInput()?.image_size).toEqual({ width: 2896, height: 1456 });
  });

  it('for a Google model sends ratio and tier, and a safety level at least as strict as ordered', async () => {
    const images = [await caller.image()];
    const order = edit({
      upstreamModel: 'fal-ai/nano-banana-pro/edit',
      images,
      aspectRatio: '3:4',
      resolution: '2K',
    });
    await falMedia(stub).editImage(order, await caller.context());
    expect(lastInput()).toMatchObject({ aspect_ratio: '3:4', resolution: '2K', safety_tolerance: '2' });
  });

  it('sends its second image as the mask if the model has one', async () => {
    const images = [await caller.image(), await caller.image()];
    const order = edit({ upstreamModel: 'fal-ai/flux-pro/v1/fill', images });
    await falMedia(stub).editImage(order, await caller.context());
    expect(lastInput()).toMatchObject({ image_url: expect.any(String), mask_url: expect.any(String) });
  });

  it.each([
    ['fal-ai/flux-pro/kontext', 2, 'one image'],
    ['fal-ai/flux-pro/v1/fill', 1, 'the mask'],
  ])('for %s with %i images is refused before any charge', async (upstreamModel, count, words) => {
    const images = await Promise.all(Array.from({ length: count }, () => caller.image()));
    expect(() => falMedia(stub).checkEdit(edit({ upstreamModel, images }))).toThrow(words);
  });
});

describe('an image', () => {
  it.each(['fal-ai/bria/background/remove', 'fal-ai/birefnet'])('is cut out by %s', async (upstreamModel) => {
    const made = await falMedia(stub).cutOut(cutout(upstreamModel, await caller.image()), await caller.context());
    expect(made.contentType).toBe('image/png');
  });

  it.each([
    ['fal-ai/clarity-upscaler', 3, { upscale_factor: 3, creativity: 0.01 }],
    ['fal-ai/esrgan', 4, { scale: 4 }],
  ])('is enlarged by %s', async (upstreamModel, scale, input) => {
    const order = enlargement({ upstreamModel, image: await caller.image(), scale });
    await falMedia(stub).enlarge(order, await caller.context());
    expect(lastInput()).toMatchObject(input);
  });
});

describe('a recording', () => {
  const segments = [
    { text: 'And so, my fellow', start: 0, end: 1.5 },
    { text: 'Americans.', start: 1.5, end: 2 },
  ];
  it.each([
    ['fal-ai/wizper', { timestamps: true }, { segments }, { language: null, chunk_level: 'segment' }],
    ['fal-ai/wizper', { timestamps: false, language: 'en' }, {}, { language: 'en' }],
    [
      'fal-ai/whisper',
      { timestamps: true },
      { words: segments.map(({ text: word, ...span }) => ({ word, ...span })) },
      { chunk_level: 'word' },
    ],
    ['fal-ai/whisper', { timestamps: false }, {}, { chunk_level: 'none' }],
  ])('is transcribed by %s with %o', async (upstreamModel, change, parts, input) => {
    const order = transcription({ upstreamModel, recording: await caller.recording(), ...change });
    const transcript = await falMedia(stub).transcribe(order, await caller.context());
    expect(transcript).toEqual({ text: 'And so, my fellow Americans.', ...parts });
    expect(lastInput()).toMatchObject(input);
  });
});

describe('speech', () => {
  async function say(change: Parameters<typeof speech>[0]): Promise<Buffer> {
    const { bytes } = await falMedia(stub).speak(speech(change), await caller.context());
    const chunks: Buffer[] = [];
    for await (const chunk of bytes) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  it.each([
    ['fal-ai/kokoro/american-english', { voice: 'af_sky', speed: 1.2 }, { voice: 'af_sky', speed: 1.2 }],
    ['fal-ai/orpheus-tts', { voice: 'tara', temperature: 0.4 }, { voice: 'tara', temperature: 0.4 }],
    ['resemble-ai/chatterboxhd/text-to-speech', { voice: 'Aurora' }, { voice: 'Aurora' }],
    [
      'resemble-ai/chatterboxhd/text-to-speech',
      { voice: 'https://v3.fal.media/files/sample.wav' },
      { audio_url: 'https://v3.fal.media/files/sample.wav' },
    ],
    [
      'fal-ai/minimax/speech-02-hd',
      { voice: 'WiseWoman', format: 'flac', language: 'en-GB', speed: 4 },
      {
        voice_setting: { voice_id: 'Wise_Woman', speed: 2 },
        audio_setting: { format: 'flac' },
        language_boost: 'English',
      },
    ],
    [
      'fal-ai/minimax/speech-02-hd',
      { voice: 'Voice3f2a', format: 'pcm' },
      { voice_setting: { voice_id: 'Voice3f2a' }, audio_setting: { format: 'pcm', sample_rate: '24000' } },
    ],
    ['fal-ai/minimax/speech-02-hd', { format: 'mp3' }, { audio_setting: { format: 'mp3' } }],
    [
      'fal-ai/gemini-3.1-flash-tts',
      { voice: 'Kore', style: 'Calm', format: 'wav' },
      { voice: 'Kore', style_instructions: 'Calm', output_format: 'wav' },
    ],
    [
      'xai/tts/v1',
      { voice: 'eve', language: 'en', format: 'wav' },
      { voice: 'eve', language: 'en', output_format: { codec: 'wav', sample_rate: '24000' } },
    ],
  ] as const)('of %s with %o', async (upstreamModel, change, input) => {
    expect((await say({ upstreamModel, ...change })).length).toBeGreaterThan(10);
    expect(lastInput()).toMatchObject(input);
  });

  it('in another format than ordered is not delivered', async () => {
    const work = say({ upstreamModel: 'fal-ai/orpheus-tts', format: 'mp3' });
    await expect(work).rejects.toMatchObject({
      reason: 'garbage',
      message: expect.stringContaining('audio/wav'),
    });
  });

  it('is readable after the work folder is removed', async () => {
    const context = await caller.context();
    const { bytes } = await falMedia(stub).speak(speech({ upstreamModel: 'fal-ai/orpheus-tts' }), context);
    await rm(context.workFolder, { recursive: true });
    let size = 0;
    for await (const chunk of bytes) size += chunk.length;
    expect(size).toBeGreaterThan(1_000);
  });
});

it('closes the file of an unread speech when the client disconnects', async () => {
  const controller = new AbortController();
  const context = await caller.context(controller.signal);
  await falMedia(stub).speak(speech({ upstreamModel: 'fal-ai/orpheus-tts' }), context);
  const openFiles = async () => {
    const all = await readdir('/proc/self/fd');
    const targets = await Promise.all(all.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    return targets.filter((target) => target.startsWith(context.workFolder));
  };
  expect(await openFiles()).toHaveLength(1);
  controller.abort();
  await vi.waitFor(async () => expect(await openFiles()).toEqual([]), { timeout: 180_000 });
  expect(stub.calls.some(({ path }) => path.endsWith('/cancel'))).toBe(false);
});

describe('a voice', () => {
  it('imitated with every order is a sample that fal keeps for a week', async () => {
    const order = sample('resemble-ai/chatterboxhd/text-to-speech', await caller.recording());
    const voice = await falMedia(stub).cloneVoice(order, await caller.context());
    expect(voice).toMatch(/^http/);
    expect(stub.storage.files[0]?.lifecycle).toContain('604800');
    expect(stub.orders).toHaveLength(0);
  });

  it('registered once is named by the service', async () => {
    const order = sample('fal-ai/minimax/speech-02-hd', await caller.recording());
    expect(await falMedia(stub).cloneVoice(order, await caller.context())).toBe('Voice3f2a');
    expect(stub.orders).toMatchObject([{ model: 'fal-ai/minimax/voice-clone', input: { model: 'speech-02-hd' } }]);
  });

  it('is not cloned for a model with a fixed choice of voices', async () => {
    const order = sample('fal-ai/orpheus-tts', await caller.recording());
    const work = falMedia(stub).cloneVoice(order, await caller.context());
    await expect(work).rejects.toMatchObject({ reason: 'refused' });
  });
});

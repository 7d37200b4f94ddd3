import { readFile } from 'node:fs/promises';
import Replicate from 'replicate';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { greyPng } from '../../engines/media/pictureFiles.ts';
import { silentMp3, testWav } from '../../stubs/elevenlabsAudio.ts';
import { OWN_VERSION } from '../../stubs/replicate/models.ts';
import { type ReplicateStub, startReplicateStub } from '../../stubs/replicate/replicate.ts';
import {
  createMediaCaller,
  cutout,
  edit,
  enlargement,
  type MediaCaller,
  picture,
  speech,
  transcription,
} from '../mediaOrders.ts';
import { replicateMedia } from './callReplicateMedia.ts';

let stub: ReplicateStub;
let caller: MediaCaller;
beforeAll(async () => {
  caller = await createMediaCaller('replicate');
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startReplicateStub();
});
afterEach(() => stub.close());

const PNG = greyPng({ width: 8, height: 8 });
const SCHNELL = 'black-forest-labs/flux-schnell';
const lastInput = () => stub.predictions.at(-1)?.input;

/** The next orders produce files of these bytes. `shape` wraps their URLs in the model's output format. */
function makes(bytes: Buffer, shape: (urls: string[]) => unknown, count = 1): void {
  const urls = Array.from({ length: count }, (_, index) => {
    stub.outputs.set(`/out/${index}`, { contentType: 'application/octet-stream', body: bytes });
    return `${stub.deliveryUrl}/out/${index}`;
  });
  stub.moments = [{ status: 'starting' }, { status: 'succeeded', output: shape(urls) }];
}
const list = (urls: string[]) => urls;
const single = ([url]: string[]) => url;

describe("the stub, called by the service's own SDK", () => {
  const client = () => new Replicate({ auth: stub.apiKey, baseUrl: `${stub.baseUrl}/v1`, useFileOutput: false });

  it('makes images and accepts files', async () => {
    makes(PNG, list, 2);
    const input = { prompt: 'a wall', num_outputs: 2, output_format: 'png' };
    const output = (await client().run(SCHNELL, { input })) as string[];
    expect(output).toHaveLength(2);
    const kontext = { prompt: 'a wall', input_image: new Blob([PNG], { type: 'image/png' }) };
    await client().run('black-forest-labs/flux-kontext-pro', { input: kontext });
    expect(stub.files).toHaveLength(1);
    expect(lastInput()?.input_image).toContain('/v1/files/');
  });

  it('refuses fields that the schema lacks', async () => {
    const work = client().run(SCHNELL, { input: { prompt: 'a wall', image_size: 'square' } });
    await expect(work).rejects.toThrow('Additional property image_size');
  });
});

describe('images', () => {
  const make = async (change: Parameters<typeof picture>[0]) =>
    replicateMedia(stub).makeImages(picture(change), await caller.context());

  it('are saved to the work folder, as many as ordered', async () => {
    makes(PNG, list, 3);
    const context = await caller.context();
    const order = picture({ upstreamModel: SCHNELL, count: 3, aspectRatio: '16:9', seed: 4, steps: 4 });
    const made = await replicateMedia(stub).makeImages(order, context);
    expect(made.map(({ contentType }) => contentType)).toEqual(Array(3).fill('image/png'));
    expect(await Promise.all(made.map(({ path }) => readFile(path)))).toEqual([PNG, PNG, PNG]);
    expect(lastInput()).toEqual({
      prompt: order.prompt,
      num_outputs: 3,
      aspect_ratio: '16:9',
      seed: 4,
      num_inference_steps: 4,
      output_format: 'png',
      disable_safety_checker: false,
    });
    expect(stub.predictions[0]?.cancelAfterSeconds).toBe(600);
    expect(stub.requests).toHaveLength(1);
    expect(stub.deliveryCredentials).toEqual([undefined, undefined, undefined]);
  });

  it('contained in the answer need not be fetched', async () => {
    const output = `data:image/png;base64,${PNG.toString('base64')}`;
    stub.moments = [{ status: 'succeeded', output: [output] }];
    const [made] = await make({ upstreamModel: SCHNELL });
    expect(await readFile(made?.path ?? '')).toEqual(PNG);
  });

  it('of a model that makes one at a time are ordered one by one, each with its own seed', async () => {
    makes(PNG, single);
    const upstreamModel = 'black-forest-labs/flux-1.1-pro';
    expect(await make({ upstreamModel, count: 2, seed: 7 })).toHaveLength(2);
    expect(stub.predictions.map(({ input }) => Number(input.seed)).sort((a, b) => a - b)).toEqual([7, 8]);
  });

  it.each([
    [SCHNELL, { width: 1280, height: 720, format: 'jpeg' }, { aspect_ratio: '16:9', output_format: 'jpg' }],
    [SCHNELL, { safeMode: false }, { disable_safety_checker: true }],
    [
      'black-forest-labs/flux-1.1-pro',
      { width: 640, height: 480 },
      { aspect_ratio: 'custom', width: 640, height: 480, safety_tolerance: 2 },
    ],
    ['google/nano-banana-pro', { aspectRatio: '3:4', resolution: '2K' }, { aspect_ratio: '3:4', resolution: '2K' }],
    ['google/nano-banana-pro', { style: 'Anime', format: 'webp' }, { output_format: 'png' }],
  ] as const)('of %s: sends %o as %o', async (upstreamModel, change, input) => {
    makes(PNG, upstreamModel === SCHNELL ? list : single);
    await make({ upstreamModel, ...change });
    expect(lastInput()).toMatchObject(input);
  });
});

describe('an edit', () => {
  it('sends its images in their order, small ones inside the order itself', async () => {
    makes(PNG, single);
    const images = [await caller.image(), await caller.image(8, 8)];
    const order = edit({ upstreamModel: 'google/nano-banana-pro', images, resolution: '4K' });
    const made = await replicateMedia(stub).editImage(order, await caller.context());
    expect(made.contentType).toBe('image/png');
    const sent = (lastInput()?.image_input ?? []) as string[];
    expect(sent.map((url) => url.slice(0, 22))).toEqual(Array(2).fill('data:image/png;base64,'));
    const bytes = Buffer.from(sent[1]?.slice(22) ?? '', 'base64');
    expect(bytes).toEqual(await readFile(images[1]?.path ?? ''));
    expect(lastInput()).toMatchObject({ aspect_ratio: 'match_input_image', resolution: '4K' });
  });

  it('with more images than the model accepts is refused before any charge', async () => {
    const images = [await caller.image(), await caller.image()];
    const order = edit({ upstreamModel: 'black-forest-labs/flux-kontext-pro', images });
    expect(() => replicateMedia(stub).checkEdit(order)).toThrow('exactly one image');
    expect(() => replicateMedia(stub).checkEdit({ ...order, images: images.slice(1) })).not.toThrow();
  });
});

describe('an image', () => {
  it('is cut out and enlarged', async () => {
    makes(PNG, single);
    const image = await caller.image();
    const media = replicateMedia(stub);
    expect(await media.cutOut(cutout('851-labs/background-remover', image), await caller.context())).toMatchObject({
      contentType: 'image/png',
    });
    for (const [upstreamModel, input] of [
      ['nightmareai/real-esrgan', { scale: 3 }],
      ['topazlabs/image-upscale', { upscale_factor: '2x' }],
    ] as const) {
      await media.enlarge(enlargement({ upstreamModel, image, scale: 3 }), await caller.context());
      expect(lastInput()).toMatchObject(input);
    }
  });
});

describe('a recording', () => {
  const segments = [{ start: 0, end: 1.2, text: ' And so' }];
  const chunks = [
    { text: ' And', timestamp: [0, 0.5] },
    { text: ' so', timestamp: [0.5, null] },
  ];
  const words = [
    { word: 'And', start: 0, end: 0.5 },
    { word: 'so', start: 0.5, end: 2 },
  ];
  it.each([
    [
      'openai/whisper',
      { transcription: ' And so', segments, detected_language: 'english' },
      { segments: [{ text: 'And so', start: 0, end: 1.2 }] },
    ],
    ['vaibhavs10/incredibly-fast-whisper', { text: ' And so', chunks }, { words }],
    ['acme/anything', 'And so', {}],
    ['acme/anything', ['And', ' so'], {}],
  ])('is transcribed by %s, which answers %o', async (upstreamModel, output, parts) => {
    stub.moments = [{ status: 'starting' }, { status: 'succeeded', output }];
    const version = upstreamModel === 'acme/anything' ? `:${OWN_VERSION}` : '';
    const order = transcription({
      upstreamModel: `${upstreamModel}${version}`,
      recording: await caller.recording(),
      language: 'en',
    });
    const transcript = await replicateMedia(stub).transcribe(order, await caller.context());
    expect(transcript).toEqual({ text: 'And so', ...parts });
  });
});

describe('speech', () => {
  it.each([
    ['minimax/speech-02-hd', 'mp3', silentMp3(1), { voice_id: 'Wise_Woman', audio_format: 'mp3', speed: 1 }],
    ['resemble-ai/chatterbox', 'wav', testWav(1), { prompt: expect.stringContaining('Hello') }],
  ] as const)('of %s as %s', async (upstreamModel, format, bytes, input) => {
    makes(bytes, single);
    const order = speech({ upstreamModel, format, voice: 'WiseWoman' });
    const said = await replicateMedia(stub).speak(order, await caller.context());
    const pieces: Buffer[] = [];
    for await (const piece of said.bytes) pieces.push(piece);
    expect(Buffer.concat(pieces)).toEqual(bytes);
    expect(lastInput()).toMatchObject(input);
  });
});

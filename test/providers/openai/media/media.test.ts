/** Requests that the adapter sends for media, and what it makes of the replies. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentMp3, testWav } from '../../../stubs/elevenlabsAudio.ts';
import { STUB_PNG, STUB_WORDS } from '../../../stubs/openaiMedia.ts';
import { failureOf } from '../../chatRequest.ts';
import { contents, heard, imageEdit, imageOrder, type MediaDesk, openDesk, PROMPT, speechOrder } from './callMedia.ts';

let desk: MediaDesk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

const sent = () => desk.stub.received.at(-1);

describe('new images', () => {
  it('are as many files as ordered', async () => {
    const made = await desk.make({ count: 3 });
    expect(await contents(made)).toEqual([STUB_PNG, STUB_PNG, STUB_PNG]);
    expect(made.map(({ contentType }) => contentType)).toEqual(Array(3).fill('image/png'));
  });

  it.each([
    ['gpt-image-2', {}, { output_format: 'png', moderation: 'auto', safety_identifier: 'user-1' }],
    ['gpt-image-2', { safeMode: false, format: 'webp' }, { output_format: 'webp', moderation: 'low' }],
    ['gpt-image-2', { width: 1_280, height: 720, quality: 'low' }, { size: '1280x720', quality: 'low' }],
    ['gpt-image-2', { width: 256, height: 256 }, { size: '816x816' }],
    ['gpt-image-2', { aspectRatio: '1:1', resolution: '4K' }, { size: '2880x2880' }],
    ['gpt-image-2', { aspectRatio: '16:9', resolution: '4K' }, { size: '3840x2160' }],
    ['gpt-image-2', { resolution: '2K' }, { size: '2048x2048' }],
    ['gpt-image-1.5', { aspectRatio: '16:9' }, { size: '1536x1024' }],
    ['gpt-image-1.5', { width: 512, height: 700 }, { size: '1024x1536' }],
    [
      'dall-e-3',
      { aspectRatio: '9:16', quality: 'high' },
      { size: '1024x1792', quality: 'hd', response_format: 'b64_json' },
    ],
    ['grok-imagine-image', { aspectRatio: '4:5', resolution: '2K' }, { aspect_ratio: '3:4', resolution: '2k' }],
    [
      'gpt-image-2',
      { style: 'Anime', negativePrompt: 'birds' },
      { prompt: `${PROMPT}\n\nStyle: Anime.\n\nAvoid: birds` },
    ],
  ] as const)('of %s ordered as %j are requested as %j', async (upstreamModel, order, fields) => {
    await desk.make({ upstreamModel, ...order });
    expect(sent()?.fields).toMatchObject(fields);
  });

  it('of compatible servers accept their sampling fields', async () => {
    const order = { negativePrompt: 'birds', steps: 8, guidance: 4, seed: 7, width: 640, height: 360 };
    await desk.make({ upstreamModel: 'open-diffusion', ...order });
    const fields = { negative_prompt: 'birds', num_inference_steps: 8, guidance_scale: 4, seed: 7 };
    expect(sent()?.fields).toMatchObject({ ...fields, size: '640x360', prompt: PROMPT });
  });

  it.each([
    [{ searchesWeb: true }, 'The model cannot search the web.'],
    [
      { styleReferences: [{ image: { path: '', contentType: '', width: 1, height: 1 }, strength: 1 }] },
      'style references',
    ],
  ])('are refused before anything is sent if the service lacks the field: %j', async (order, words) => {
    const failure = await failureOf(desk.make(order));
    expect(failure.reason).toBe('refused');
    expect(failure.words).toContain(words);
    expect(desk.stub.received).toEqual([]);
  });

  it("may have every size within the model's bounds", async () => {
    const media = desk.open();
    const context = await desk.context();
    const ask = async (change: Parameters<typeof imageOrder>[0]) => {
      desk.stub.next.push({ kind: 'ok', contentType: 'application/json', body: '{"data":[]}' });
      // The stub refuses a size out of bounds before it answers.
      expect(await failureOf(media.makeImages(imageOrder(change), context))).toMatchObject({
        reason: 'garbage',
      });
    };
    for (const aspectRatio of ['1:1', '21:9', '9:16', '3:4', '4:5', '5:1', '1:9']) {
      for (const resolution of ['1K', '2K', '4K']) await ask({ aspectRatio, resolution });
    }
    const edges = [1, 15, 256, 1_000, 1_279, 1_280, 5_000];
    for (const width of edges) for (const height of edges) await ask({ width, height });
  });

  it("are fetched from the service's own URL with the credential", async () => {
    desk.stub.answersUrls = true;
    desk.stub.models.push('chatgpt-image-latest');
    const made = await desk.make({ upstreamModel: 'chatgpt-image-latest', count: 2 });
    expect(await contents(made)).toEqual([STUB_PNG, STUB_PNG]);
  });

  it('are not fetched from a private address that a reply names', async () => {
    let asked = 0;
    const inner = createServer((_, response) => {
      asked += 1;
      response.end(STUB_PNG);
    });
    await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(inner.address() as AddressInfo).port}/x.png`;
    desk.stub.next.push({
      kind: 'ok',
      contentType: 'application/json',
      body: JSON.stringify({ data: [{ url }] }),
    });
    expect(await failureOf(desk.make())).toMatchObject({ reason: 'garbage' });
    expect(asked).toBe(0);
    await new Promise((resolve) => inner.close(resolve));
  });

  it('arrive whole in chunks of any size, also with escaped slashes', async () => {
    const big = Buffer.alloc(3_000_001, 'picture');
    STUB_PNG.copy(big);
    const json = JSON.stringify({
      created: 1,
      note: 'the "b64_json": "x"',
      data: [{ b64_json: big.toString('base64') }],
    });
    desk.stub.next.push({ kind: 'ok', contentType: 'application/json', body: json.replaceAll('/', '\\/') });
    expect(await contents(await desk.make())).toEqual([big]);
  });
});

describe('an edit', () => {
  it('sends all images in order, as a form', async () => {
    const made = await desk.edit({ resolution: '1K', quality: 'medium' });
    expect(await contents([made])).toEqual([STUB_PNG]);
    const part = { name: 'image[]', type: 'image/png', bytes: STUB_PNG.length };
    expect(sent()?.files).toEqual([
      { ...part, filename: 'image-1.png' },
      { ...part, filename: 'image-2.png' },
    ]);
    // The aspect ratio is that of the base.
    expect(sent()?.fields).toMatchObject({ size: '1248x832', quality: 'medium', output_format: 'png' });
  });

  it('leaves the size to the service when none is ordered', async () => {
    await desk.edit();
    expect(sent()?.fields).not.toHaveProperty('size');
  });

  it('is JSON for a service that accepts no form', async () => {
    await desk.edit({ upstreamModel: 'grok-imagine-image', aspectRatio: '16:9' });
    const images = Array(2).fill({
      type: 'image_url',
      url: `data:image/png;base64,${STUB_PNG.toString('base64')}`,
    });
    expect(sent()?.fields).toMatchObject({ aspect_ratio: '16:9', images });
  });

  it('with more images than the service accepts is refused before it is sent', async () => {
    const { images } = imageEdit(desk.folder);
    const many = Array.from({ length: 17 }, () => images[0]).filter((image) => image !== undefined);
    expect(await failureOf(desk.edit({ images: many }))).toMatchObject({ reason: 'refused' });
    expect(desk.stub.received).toEqual([]);
  });
});

describe('a transcript', () => {
  it('has words and segments if the model returns timestamps', async () => {
    const segments = [{ text: 'Hello there.', start: 0, end: 0.9 }];
    expect(await desk.transcribe({ timestamps: true, language: 'en' })).toEqual({
      ...{ text: 'Hello there.', words: STUB_WORDS, segments },
    });
    expect(sent()?.files).toMatchObject([{ name: 'file', filename: 'recording.wav', type: 'audio/wav' }]);
    const times = ['word', 'segment'];
    expect(sent()?.fields).toMatchObject({ language: 'en', 'timestamp_granularities[]': times });
  });

  it.each([
    ['whisper-1', false],
    ['gpt-4o-transcribe', true],
  ])('of %s with timestamps %s is text alone', async (upstreamModel, timestamps) => {
    expect(await desk.transcribe({ upstreamModel, timestamps })).toEqual({ text: 'Hello there.' });
  });

  it.each([
    ['mov', 'audio/mp4', 'recording.m4a'],
    ['matroska', 'audio/webm', 'recording.webm'],
    ['ogg', 'audio/ogg', 'recording.ogg'],
  ])('is sent with a file name that shows the container: %s', async (demuxer, contentType, filename) => {
    const recording = { path: `${desk.folder}/source.wav`, contentType, demuxer, seconds: 1 };
    await desk.transcribe({ recording });
    expect(sent()?.files[0]).toMatchObject({ filename, type: contentType });
  });
});

describe('speech', () => {
  it.each(['mp3', 'wav', 'pcm', 'opus', 'flac', 'aac'] as const)('arrives whole as %s', async (format) => {
    const audio = await heard(await desk.speak({ format }));
    if (format === 'mp3') expect(audio).toEqual(silentMp3(1));
    if (format === 'wav') expect(audio).toEqual(testWav(1));
    expect(audio.length).toBeGreaterThan(3_000);
    expect(sent()?.fields).toEqual({
      model: 'gpt-4o-mini-tts',
      input: PROMPT,
      voice: 'coral',
      response_format: format,
    });
  });

  it('starts before it is complete, and arrives in the chunks of the service', async () => {
    desk.stub.pieceMs = 30;
    const { bytes } = await desk.speak();
    expect(sent()?.aborted).toBe(false);
    let pieces = 0;
    for await (const _ of bytes) pieces += 1;
    expect(pieces).toBeGreaterThan(3);
  });

  it('is requested with speed and style, in fields that the service knows', async () => {
    const order = { speed: 1.5, style: 'Whisper.', language: 'en', temperature: 0.3, topP: 0.9 };
    await heard(await desk.speak(order));
    expect(sent()?.fields).toMatchObject({ speed: 1.5, instructions: 'Whisper.' });
    expect(sent()?.fields).not.toHaveProperty('language');
    await heard(await desk.speak({ ...order, upstreamModel: 'tts-1' }));
    expect(sent()?.fields).not.toHaveProperty('instructions');
    const open = desk.open({ dialect: 'compatible' });
    await heard(await open.speak(speechOrder({ ...order, upstreamModel: 'open-voice' }), await desk.context()));
    expect(sent()?.fields).toMatchObject({ language: 'en', temperature: 0.3, top_p: 0.9 });
  });
});

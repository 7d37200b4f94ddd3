/** A chat with media pays the token count of its service. The hold depends on length and size, not on bytes. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import { made } from '../../engines/media/videoFiles.ts';
import { dataUrl, png } from './pictures.ts';
import { startTextWorld, type TextWorld, textModel } from './textWorld.ts';

const folder = mkdtempSync(join(tmpdir(), 'farebox-media-holds-'));
const usd = (amount: number) => ({ usd: amount, diem: amount });
const { spec } = textModel({});
const capabilities = { ...spec.capabilities, supportsVideoInput: true };
const pricing = { input: usd(1.25), output: usd(10) };
const seeing = (changes: Partial<TextModel>) =>
  textModel({ spec: { ...spec, availableContextTokens: 1_000_000, capabilities, pricing }, ...changes });
const models = [
  seeing({ id: 'gpt-media' }),
  seeing({ id: 'gpt-frugal', mediaTokens: { minPerImage: 85, maxPerImage: 85, perAudioSecond: 10 } }),
];

let world: TextWorld;

beforeAll(async () => {
  world = await startTextWorld((config) => ({
    ...config,
    modelCatalogue: createCatalogue([...config.modelCatalogue.models, ...models]),
  }));
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

const video = (name: string, source: string) => {
  const bytes = made(
    folder,
    name,
    '-f',
    'lavfi',
    '-i',
    source,
    '-c:v',
    'libx264',
    '-preset',
    'ultrafast',
    '-pix_fmt',
    'yuv420p',
  );
  return { type: 'video_url', video_url: { url: dataUrl(bytes, 'video/mp4') } };
};
const sound = (seconds: number, format: string, ...options: string[]) => {
  const source = ['-f', 'lavfi', '-i', `sine=duration=${seconds}:sample_rate=16000`];
  const data = made(folder, `sound-${seconds}.${format}`, ...source, '-ac', '1', ...options);
  return { type: 'input_audio', input_audio: { data: data.toString('base64'), format } };
};
const picture = (width: number, height: number) => ({
  type: 'image_url',
  image_url: { url: dataUrl(png(width, height)) },
});

async function askFor(part: object, more: object = {}, headers: Record<string, string> = {}) {
  const content = [{ type: 'text', text: 'Look.' }, part];
  const body = { model: 'gpt-media', max_tokens: 1, messages: [{ role: 'user', content }], ...more };
  const response = await world.chat(body, { headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function promptBound(part: object, model: string): Promise<number> {
  const { body } = await askFor(part, { model }, { 'x-service-dry-run': 'true' });
  return (body as { bounds: [{ prompt_tokens: number }] }).bounds[0].prompt_tokens;
}

describe('a prompt with media, charged by the count of its service to the nano', () => {
  it.each<[string, () => object, number]>([
    ['a still video of 30 minutes', () => video('still.mp4', 'color=s=64x64:r=1:d=1800'), 464_400],
    ['a film of 5 minutes with a picture a second', () => video('slides.mp4', 'testsrc2=s=320x240:r=1:d=300'), 77_400],
    ['a thin recording of 30 minutes', () => sound(1_800, 'mp3', '-b:a', '8k'), 57_600],
    ['a large picture', () => picture(4_032, 3_024), 16_384],
  ])('%s', async (_name, make, promptTokens) => {
    const part = make();
    expect(await promptBound(part, 'gpt-media')).toBeGreaterThanOrEqual(promptTokens);
    world.stub.next = [{ tokens: ['Yes'], usage: { prompt_tokens: promptTokens, completion_tokens: 1 } }];
    const { status, body } = await askFor(part);
    expect([status, body.error]).toEqual([200, undefined]);
    const entry = await world.entryOf(body.id as string);
    expect(entry?.amountNano).toBe(BigInt(promptTokens) * 1_250n + 10_000n);
    await world.settled();
  });
});

describe('the hold for media', () => {
  it('depends on the media rates of the model', async () => {
    const [dear, cheap] = [
      await promptBound(picture(64, 64), 'gpt-media'),
      await promptBound(picture(64, 64), 'gpt-frugal'),
    ];
    expect(dear - cheap).toBe(2_000 - 85);
    const part = sound(60, 'wav');
    expect((await promptBound(part, 'gpt-media')) - (await promptBound(part, 'gpt-frugal'))).toBe(61 * (50 - 10));
  });

  it.each(['wav', 'mp3', 'ogg', 'flac', 'm4a', 'aac', 'aiff'])('is counted for %s', async (format) => {
    const part = sound(2, format);
    expect(await promptBound(part, 'gpt-media')).toBeGreaterThanOrEqual(100);
    expect((await askFor(part)).status).toBe(200);
    expect(JSON.stringify(world.stub.received.at(-1)?.body)).toContain(`"format":"${format}"`);
  });
});

describe('media that are refused without a model call', () => {
  const of = (bytes: Buffer, format: string) => ({
    type: 'input_audio',
    input_audio: { data: bytes.toString('base64'), format },
  });
  const film = (bytes: Buffer, type: string) => ({
    type: 'video_url',
    video_url: { url: dataUrl(bytes, type) },
  });

  it.each<[string, () => object]>([
    ['noise that claims to be sound', () => of(Buffer.from('no sound at all'), 'mp3')],
    ['half a sample', () => of(Buffer.alloc(1), 'pcm16')],
    ['noise that claims to be a video', () => film(Buffer.from('no video at all'), 'video/mp4')],
    ['a video that ends in its middle', () => film(cutInHalf('still.mp4'), 'video/mp4')],
    ['a video of a kind that is not measured', () => film(Buffer.from('000001ba44', 'hex'), 'video/mpeg')],
  ])('%s', async (_name, make) => {
    const before = world.stub.received.length;
    const { status, body } = await askFor(make());
    expect([status, typeof body.error, world.stub.received.length]).toEqual([400, 'string', before]);
    await world.settled();
  });
});

function cutInHalf(name: string): Buffer {
  const whole = readFileSync(join(folder, name));
  return whole.subarray(0, whole.length / 2);
}

/** Checks the stub with OpenAI's own client, so that tests of our adapter may rely on it. */
import OpenAI, { toFile } from 'openai';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { silentMp3, testWav } from '../../../stubs/elevenlabsAudio.ts';
import { type OpenAiMediaStub, STUB_PNG, STUB_WORDS, startOpenAiMediaStub } from '../../../stubs/openaiMedia.ts';

let stub: OpenAiMediaStub;
beforeEach(async () => {
  stub = await startOpenAiMediaStub();
});
afterEach(() => stub.close());

const client = (apiKey = 'stub-key') => new OpenAI({ apiKey, baseURL: stub.baseUrl, maxRetries: 0 });
const prompt = 'A lighthouse.';
const wav = () => toFile(testWav(1), 'speech.wav', { type: 'audio/wav' });
const png = (name: string) => toFile(STUB_PNG, name, { type: 'image/png' });

async function failure(work: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await Promise.resolve(work).catch((reason: unknown) => reason);
  if (!(error instanceof OpenAI.APIError)) throw new Error(`no error of the SDK: ${String(error)}`);
  return error;
}

it('makes images of the requested size', async () => {
  const { data } = await client().images.generate({ model: 'gpt-image-2', prompt, n: 2, size: '1536x864' });
  expect(data).toHaveLength(2);
  expect(Buffer.from(data?.[0]?.b64_json ?? '', 'base64')).toEqual(STUB_PNG);
  const wrong = client().images.generate({ model: 'gpt-image-1.5', prompt, size: '1000x1000' });
  expect(await failure(wrong)).toMatchObject({ status: 400, code: 'invalid_value' });
});

it('edits one image or several', async () => {
  const one = await client().images.edit({ model: 'gpt-image-2', prompt, image: await png('a.png') });
  expect(one.data).toHaveLength(1);
  const image = [await png('a.png'), await png('b.png')];
  await client().images.edit({ model: 'gpt-image-2', prompt, image, quality: 'low' });
  const names = stub.received.map(({ files }) => files.map(({ name }) => name));
  expect(names).toEqual([['image'], ['image[]', 'image[]']]);
});

it('refuses a prompt by its safety system', async () => {
  const refused = client().images.generate({ model: 'gpt-image-2', prompt: 'Something forbidden.' });
  expect(await failure(refused)).toMatchObject({ status: 400, code: 'moderation_blocked' });
});

it('transcribes, with timestamps if the model returns them', async () => {
  const plain = await client().audio.transcriptions.create({ model: 'gpt-4o-transcribe', file: await wav() });
  expect(plain.text).toBe('Hello there.');
  const timed = await client().audio.transcriptions.create({
    ...{ model: 'whisper-1', file: await wav(), response_format: 'verbose_json' },
    timestamp_granularities: ['word', 'segment'],
  });
  expect(timed).toMatchObject({ words: STUB_WORDS, segments: [{ text: 'Hello there.' }] });
  const wrong = { model: 'gpt-4o-transcribe', file: await wav(), response_format: 'verbose_json' } as const;
  expect(await failure(client().audio.transcriptions.create(wrong))).toMatchObject({ status: 400 });
});

it('speaks', async () => {
  const order = { model: 'gpt-4o-mini-tts', voice: 'coral', input: 'Hello.' } as const;
  const speech = await client().audio.speech.create(order);
  expect(Buffer.from(await speech.arrayBuffer())).toEqual(silentMp3(1));
  const unknown = client().audio.speech.create({ ...order, voice: 'nobody' });
  expect(await failure(unknown)).toMatchObject({ status: 400 });
});

it('refuses a wrong key and an unknown model, and breaks as configured', async () => {
  const make = (model: string, key?: string) => client(key).images.generate({ model, prompt });
  expect(await failure(make('gpt-image-2', 'wrong'))).toMatchObject({ status: 401 });
  expect(await failure(make('gpt-image-0'))).toMatchObject({ status: 404, code: 'model_not_found' });
  stub.next.push({ kind: 'reply', status: 500 }, { kind: 'accept-then-destroy' });
  expect(await failure(make('gpt-image-2'))).toBeInstanceOf(OpenAI.InternalServerError);
  expect(await failure(make('gpt-image-2'))).toBeInstanceOf(OpenAI.APIConnectionError);
});

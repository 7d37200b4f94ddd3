/** Calls the adapter against the stub, in a private folder, with short timeouts. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGuardedFetch } from '../../../../infra/http/guardedFetch.ts';
import {
  createOpenAiMedia,
  type OpenAiMedia,
  type OpenAiMediaOptions,
} from '../../../../providers/openai/media/openAiMedia.ts';
import type {
  ImageEdit,
  ImageOrder,
  MadeImage,
  MediaCallContext,
  Speech,
  SpeechOrder,
  Transcript,
  TranscriptionOrder,
} from '../../../../providers/shared/mediaProvider.ts';
import { testWav } from '../../../stubs/elevenlabsAudio.ts';
import { timeoutsFor } from '../../../stubs/elevenlabsFaults.ts';
import { type OpenAiMediaStub, STUB_PNG, startOpenAiMediaStub } from '../../../stubs/openaiMedia.ts';

/** Must appear in no error. */
export const PROMPT = 'A lighthouse in a storm.';
export const SECRET = 'stub-key';

export interface MediaDesk {
  stub: OpenAiMediaStub;
  folder: string;
  open(change?: Partial<OpenAiMediaOptions>): OpenAiMedia;
  context(signal?: AbortSignal): Promise<MediaCallContext>;
  make(change?: Partial<ImageOrder>): Promise<MadeImage[]>;
  edit(change?: Partial<ImageEdit>): Promise<MadeImage>;
  transcribe(change?: Partial<TranscriptionOrder>): Promise<Transcript>;
  speak(change?: Partial<SpeechOrder>): Promise<Speech>;
  close(): Promise<void>;
}

export async function openDesk(): Promise<MediaDesk> {
  const stub = await startOpenAiMediaStub();
  const folder = await mkdtemp(join(tmpdir(), 'farebox-openai-media-'));
  await writeFile(join(folder, 'source.png'), STUB_PNG);
  await writeFile(join(folder, 'source.wav'), testWav(1));
  const opened: OpenAiMedia[] = [];
  const open = (change: Partial<OpenAiMediaOptions> = {}) => {
    const made = createOpenAiMedia({
      ...{ name: 'media', baseUrl: stub.baseUrl, apiKey: SECRET, allowPrivateNetwork: true },
      timeouts: timeoutsFor(stub.next),
      dialect: 'openai',
      guardedFetch: createGuardedFetch({ allowPrivateHosts: [], failureFloorMs: 1 }),
      ...change,
    });
    opened.push(made);
    return made;
  };
  const context = async (signal = new AbortController().signal) => {
    return { workFolder: await mkdtemp(join(folder, 'call-')), signal };
  };
  return {
    ...{ stub, folder, open, context },
    make: async (change) => open().makeImages(imageOrder(change), await context()),
    edit: async (change) => open().editImage(imageEdit(folder, change), await context()),
    transcribe: async (change) => open().transcribe(transcriptionOrder(folder, change), await context()),
    speak: async (change) => open().speak(speechOrder(change), await context()),
    async close() {
      await Promise.all(opened.map((each) => each.close()));
      await stub.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function imageOrder(change: Partial<ImageOrder> = {}): ImageOrder {
  return {
    ...{ upstreamModel: 'gpt-image-2', endUser: 'user-1', prompt: PROMPT, count: 1, format: 'png' },
    ...{
      safeMode: true,
      styleReferences: [],
      hidesWatermark: false,
      searchesWeb: false,
      skipsThinking: false,
    },
    ...change,
  };
}

export function imageEdit(folder: string, change: Partial<ImageEdit> = {}): ImageEdit {
  const image = { path: join(folder, 'source.png'), contentType: 'image/png', width: 300, height: 200 };
  return {
    ...{ upstreamModel: 'gpt-image-2', endUser: 'user-1', prompt: PROMPT, images: [image, image] },
    ...{ format: 'png', safeMode: true, skipsThinking: false },
    ...change,
  };
}

export function transcriptionOrder(folder: string, change: Partial<TranscriptionOrder> = {}): TranscriptionOrder {
  const path = join(folder, 'source.wav');
  const recording = { path, contentType: 'audio/wav', demuxer: 'wav', seconds: 1 };
  return { upstreamModel: 'whisper-1', endUser: 'user-1', recording, timestamps: false, ...change };
}

export function speechOrder(change: Partial<SpeechOrder> = {}): SpeechOrder {
  return {
    ...{ upstreamModel: 'gpt-4o-mini-tts', endUser: 'user-1', text: PROMPT, voice: 'coral' },
    ...{ format: 'mp3', speed: 1 },
    ...change,
  };
}

export async function heard({ bytes }: Speech): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

export async function contents(images: readonly MadeImage[]): Promise<Buffer[]> {
  return await Promise.all(images.map(({ path }) => readFile(path)));
}

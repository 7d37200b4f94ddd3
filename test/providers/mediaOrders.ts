/** Orders for synchronous media, with the folders and files that they need. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  Cutout,
  Enlargement,
  ImageEdit,
  ImageFile,
  ImageOrder,
  MediaCallContext,
  RecordingFile,
  SpeechOrder,
  TranscriptionOrder,
  VoiceSample,
} from '../../providers/shared/mediaProvider.ts';
import { greyPng } from '../engines/media/pictureFiles.ts';
import { testWav } from '../stubs/elevenlabsAudio.ts';

/** Part of every prompt; must not appear in the detail of a failure. */
export const PRIVATE_WORDS = 'xylophone grandmother';

export interface MediaCaller {
  /** Context of one call: a new folder and a deadline that it does not reach. */
  context(signal?: AbortSignal): Promise<MediaCallContext>;
  image(width?: number, height?: number): Promise<ImageFile>;
  recording(): Promise<RecordingFile>;
  close(): Promise<void>;
}

export async function createMediaCaller(name: string): Promise<MediaCaller> {
  const root = await mkdtemp(join(tmpdir(), `farebox-${name}-media-`));
  return {
    context: async (signal = AbortSignal.timeout(100_000)) => ({
      workFolder: await mkdtemp(join(root, 'call-')),
      signal,
    }),
    async image(width = 32, height = 16) {
      const path = join(root, `image-${crypto.randomUUID()}`);
      await writeFile(path, greyPng({ width, height }));
      return { path, contentType: 'image/png', width, height };
    },
    async recording() {
      const path = join(root, `recording-${crypto.randomUUID()}`);
      await writeFile(path, testWav(2));
      return { path, contentType: 'audio/wav', demuxer: 'wav', seconds: 2 };
    },
    close: () => rm(root, { recursive: true, force: true }),
  };
}

const USER = { endUser: 'u_1' };

export function picture(change: Partial<ImageOrder> & { upstreamModel: string }): ImageOrder {
  return {
    ...USER,
    prompt: `a ${PRIVATE_WORDS}`,
    count: 1,
    format: 'png',
    safeMode: true,
    styleReferences: [],
    hidesWatermark: false,
    searchesWeb: false,
    skipsThinking: false,
    ...change,
  };
}

export function edit(change: Partial<ImageEdit> & Pick<ImageEdit, 'upstreamModel' | 'images'>): ImageEdit {
  return {
    ...USER,
    prompt: `a ${PRIVATE_WORDS}`,
    format: 'png',
    safeMode: true,
    skipsThinking: false,
    ...change,
  };
}

export function cutout(upstreamModel: string, image: ImageFile): Cutout {
  return { ...USER, upstreamModel, image };
}

export function enlargement(change: Partial<Enlargement> & Pick<Enlargement, 'upstreamModel' | 'image'>): Enlargement {
  return { ...USER, scale: 2, creativity: 0.01, ...change };
}

export function transcription(
  change: Partial<TranscriptionOrder> & Pick<TranscriptionOrder, 'upstreamModel' | 'recording'>,
): TranscriptionOrder {
  return { ...USER, timestamps: true, ...change };
}

export function speech(change: Partial<SpeechOrder> & { upstreamModel: string }): SpeechOrder {
  return { ...USER, text: `Hello, ${PRIVATE_WORDS}.`, format: 'wav', speed: 1, ...change };
}

export function sample(upstreamModel: string, recording: RecordingFile): VoiceSample {
  return { ...USER, upstreamModel, recording };
}

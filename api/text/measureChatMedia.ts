/** Measures recordings and videos of a prompt: services count them by the second, which their size does not tell. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FareboxError } from '../../domain/errors.ts';
import type { AudioPart, VideoPart } from '../../domain/text/chat.ts';
import type { SoundFormat } from '../../engines/media/formats.ts';
import { measureAudio } from '../../engines/media/measureAudio.ts';
import { measureVideo } from '../../engines/media/measureVideo.ts';
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import type { RequestShare } from '../../infra/accountShares.ts';
import type { Dependencies } from '../dependencies.ts';

export type MeasureContext = Pick<Dependencies, 'core' | 'providers'> & {
  signal: AbortSignal;
  share: RequestShare;
};

const MAX_SECONDS = 3 * 60 * 60;
const MAX_BYTES = 25 * 1024 * 1024;
/** 8K video. */
const MAX_VIDEO_PIXELS = 7_680 * 4_320;
/** Leaves most of the time of a request. */
const VIDEO_TIMEOUT_MS = 60_000;
const SOUND_FORMATS: readonly SoundFormat[] = ['wav', 'mp3', 'aiff', 'aac', 'ogg', 'flac', 'mp4'];
/** Samples without a header, at the lowest rate that services expect: no other reading is longer. */
const RAW_SAMPLES_PER_SECOND = 16_000;
const RAW_SAMPLE_BYTES = { pcm16: 2, pcm24: 3 };

/** Throws FareboxError `invalid_media`, `media_too_long`, or `unavailable` when too many wait. */
export async function measureChatAudio(
  measuring: MeasureContext,
  { bytes, format }: { bytes: Buffer; format: string },
): Promise<AudioPart> {
  if (format === 'pcm16' || format === 'pcm24') return rawAudio(bytes, format);
  const { audio } = await inFile(measuring, bytes, async (tools, path) => {
    const { signal } = measuring;
    const outcome = await measureAudio(tools, {
      path,
      accepted: SOUND_FORMATS,
      maxSeconds: MAX_SECONDS,
      signal,
    });
    if (!outcome.ok) throw refused('input_audio', outcome);
    return outcome;
  });
  return { type: 'audio', bytes, mediaType: audio.contentType, seconds: audio.decodedSeconds };
}

function rawAudio(bytes: Buffer, format: keyof typeof RAW_SAMPLE_BYTES): AudioPart {
  const samples = bytes.length / RAW_SAMPLE_BYTES[format];
  if (!Number.isInteger(samples)) {
    throw refused('input_audio', {
      code: 'invalid_media',
      message: `Not a whole number of ${format} samples.`,
    });
  }
  return { type: 'audio', bytes, mediaType: `audio/${format}`, seconds: samples / RAW_SAMPLES_PER_SECOND };
}

/** Throws like `measureChatAudio`, and `payload_too_large`. */
export async function measureChatVideo(measuring: MeasureContext, bytes: Buffer): Promise<VideoPart> {
  const { video } = await inFile(measuring, bytes, async (tools, path) => {
    const outcome = await measureVideo(tools, {
      ...{ path, maxBytes: MAX_BYTES, maxSeconds: MAX_SECONDS, maxPixels: MAX_VIDEO_PIXELS },
      ...{ timeoutMs: VIDEO_TIMEOUT_MS, signal: measuring.signal },
    });
    if (!outcome.ok) throw refused('video_url', outcome);
    return outcome;
  });
  const { contentType, seconds, audioSeconds } = video;
  return { type: 'video', bytes, mediaType: contentType, seconds, audioSeconds };
}

type MeasureRefusal = Pick<FareboxError, 'code' | 'message'> & { isTooComplex?: true };

function refused(name: string, { code, message, isTooComplex }: MeasureRefusal): FareboxError {
  return new FareboxError({
    code,
    message: `${name}: ${message}`,
    ...(isTooComplex && { internal: 'too_complex: the decoder was ended by its limits' }),
  });
}

async function inFile<T>(
  { core: { config }, providers: { folders }, signal, share }: MeasureContext,
  bytes: Buffer,
  measure: (tools: MediaTools, path: string) => Promise<T>,
): Promise<T> {
  const { ffmpegPath, ffprobePath } = config;
  const folder = await folders.create();
  try {
    const path = join(folder, 'medium');
    await writeFile(path, bytes, { mode: 0o600 });
    const tools = { ffmpegPath, ffprobePath, workFolder: folders.root };
    return await share.inSlot('decoders', () => measure(tools, path), signal);
  } finally {
    await folders.remove(folder);
  }
}

/** Output of an order in plain values that a handle can contain: durations and digests, never content. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PixelSize } from '../../domain/images/images.ts';
import { toEven } from '../local/video/frames.ts';
import { ratioOf } from '../shared/imageSizes.ts';
import type { AudioRequest, GenerationOutput, GenerationRequest, MediaFile, VideoRequest } from '../shared/provider.ts';
import { writeMelody, writeTone } from './sounds.ts';
import { type PatternMeans, writePattern } from './testPattern.ts';

export type OrderedOutput =
  | { kind: 'voice-changer'; seconds: number; voice: string; seed: number }
  | { kind: 'audio'; seconds: number; theme: string; loop: boolean }
  | { kind: 'video'; seconds: number; theme: string; audio: boolean; width: number; height: number };

/** Damage to an output by a fault. */
export type SpoiledOutput = 'garbage-output' | 'empty-output' | 'truncated-output';

const MAX_SECONDS = 3_600;
/** Limit of an encoder within the memory of a run. */
const MAX_SIDE = 5_120;
const MAX_PIXELS = 5_120 * 2_880;
const DEFAULT_VIDEO_SECONDS = 5;
/** Speaking rate of speech, which has no ordered duration. */
const CHARACTERS_PER_SECOND = 15;
const GARBAGE = 'Farebox simulator: these bytes are deliberately no audio and no video.\n'.repeat(32);

/** A string is the reason for a refusal. */
export function orderedOutput(request: GenerationRequest): OrderedOutput | string {
  const output = plan(request);
  if (output.seconds > MAX_SECONDS) return `The simulator makes at most ${MAX_SECONDS} seconds.`;
  if (output.kind === 'video' && isTooLarge(output)) {
    return `The simulator makes pictures of at most ${MAX_SIDE} pixels a side and ${MAX_PIXELS} in all.`;
  }
  return output;
}

function isTooLarge({ width, height }: PixelSize): boolean {
  return Math.max(width, height) > MAX_SIDE || width * height > MAX_PIXELS;
}

function plan(request: GenerationRequest): OrderedOutput {
  switch (request.kind) {
    case 'voice-changer': {
      const { sourceSeconds, voice, seed = 0 } = request;
      return { kind: 'voice-changer', seconds: sourceSeconds, voice, seed };
    }
    case 'audio':
      return planAudio(request);
    case 'video':
      return planVideo(request);
  }
}

function planAudio(request: AudioRequest): OrderedOutput {
  const { prompt, lyrics, durationSeconds, speed = 1, loop = false, voice, languageCode } = request;
  const spoken = Math.max(1, Math.ceil(prompt.length / CHARACTERS_PER_SECOND / speed));
  const { forceInstrumental, lyricsOptimizer } = request;
  const theme = themeOf([prompt, lyrics, forceInstrumental, lyricsOptimizer, voice, languageCode]);
  return { kind: 'audio', seconds: durationSeconds ?? spoken, theme, loop };
}

function planVideo(request: VideoRequest): OrderedOutput {
  const { prompt, negativePrompt, audio = true, media, upscale } = request;
  const source = media.find(({ role }) => role === 'video');
  const seconds = request.durationSeconds ?? source?.seconds ?? DEFAULT_VIDEO_SECONDS;
  const theme = themeOf([prompt, negativePrompt, ...media.map(({ sha256 }) => sha256)]);
  const slower = upscale?.slowdownFactor ?? 1;
  return { kind: 'video', seconds: seconds * slower, theme, audio, ...frameSize(request) };
}

function themeOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

const FILES = {
  'voice-changer': { name: 'simulated.wav', contentType: 'audio/wav' },
  audio: { name: 'simulated.wav', contentType: 'audio/wav' },
  video: { name: 'simulated.mp4', contentType: 'video/mp4' },
} as const;

/** Writes the output to the call's folder. */
export async function writeOutput(
  output: OrderedOutput,
  spoiled: SpoiledOutput | undefined,
  means: PatternMeans,
): Promise<GenerationOutput> {
  const { name, contentType } = FILES[output.kind];
  const path = join(means.context.workFolder, name);
  if (spoiled === 'garbage-output') await writeFile(path, GARBAGE);
  else if (spoiled === 'empty-output') await writeFile(path, '');
  else await writeWhole(path, { output, cut: spoiled === 'truncated-output' }, means);
  return { path, contentType };
}

async function writeWhole(
  path: string,
  { output, cut }: { output: OrderedOutput; cut: boolean },
  means: PatternMeans,
): Promise<void> {
  switch (output.kind) {
    case 'voice-changer':
      return await writeTone(path, { ...output, cut });
    case 'audio':
      return await writeMelody(path, { ...output, cut });
    case 'video':
      return await writePattern(path, { ...output, cut }, means);
  }
}

const DEFAULT_LINES = 480;
const DEFAULT_RATIO = 16 / 9;

/** Frame size: an upscaler multiplies its source's by the factor; others put the ordered lines on the short side. */
function frameSize(request: VideoRequest): PixelSize {
  const { upscale, resolution, aspectRatio, media } = request;
  const source = media.find(({ role }) => role === 'video');
  const seen = source ?? media.find(({ width, height }) => width !== undefined && height !== undefined);
  const lines = linesOf(resolution);
  if (source && isSized(source) && (upscale !== undefined || lines === undefined)) {
    const factor = upscale?.factor ?? 1;
    return { width: toEven(source.width * factor), height: toEven(source.height * factor) };
  }
  const ratio = ratioOf(aspectRatio) ?? (seen && isSized(seen) ? seen.width / seen.height : DEFAULT_RATIO);
  const short = lines ?? DEFAULT_LINES;
  return ratio >= 1
    ? { width: toEven(short * ratio), height: toEven(short) }
    : { width: toEven(short), height: toEven(short / ratio) };
}

function isSized(medium: MediaFile): medium is MediaFile & PixelSize {
  return (medium.width ?? 0) > 0 && (medium.height ?? 0) > 0;
}

/** Reads `720p`, `768P`, `true_1080p`, `2K`, `4k`; undefined for other words. */
function linesOf(resolution = ''): number | undefined {
  const lines = /(\d{3,4})p$/i.exec(resolution)?.[1];
  if (lines !== undefined) return Number(lines);
  return { '2k': 1_440, '4k': 2_160 }[resolution.toLowerCase()];
}

/** Converts text to WAV by the synthesiser on this machine, for queued and synchronous speech. */
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunEnd } from '../../engines/child/runLimited.ts';
import { ffmpeg } from '../../engines/media/ffmpeg.ts';
import { SPEECH_RATE } from '../../engines/speech/runEspeak.ts';
import { engineLanguage, speechVoice } from './speechVoices.ts';

export const SLOWEST_SPEED = 0.25;
export const FASTEST_SPEED = 4;
const DEFAULT_VOICE = 'narrator';
const DEFAULT_LANGUAGE = 'en';
/** A limit of the text alone is not enough: digits and signs are spoken as words. */
export const MAX_SPEECH_SECONDS = 3_600;

const WAV_HEADER_BYTES = 44;
const WAV_BYTES_PER_SECOND = SPEECH_RATE * 2;
const SYNTHESIS_TIMEOUT_MS = 180_000;
/** The engine's range in words per minute; beyond it the sound is stretched. */
const ENGINE_RATES = { slowest: 80, fastest: 450 };
/** Samples above it are audible: 46 dB below full scale. */
const AUDIBLE = 160;
const PIECE_BYTES = 65_536;

export interface SpeechPlan {
  text: string;
  voice: string;
  rate: number;
  pitch: number;
  /** Playback speed of the engine's output, as a factor. */
  stretch: number;
}

interface SpeechWish {
  text: string;
  voice: string | undefined;
  /** ISO 639-1. Undefined selects the default, as for voice and speed. */
  languageCode: string | undefined;
  speed: number | undefined;
}

/** Returns the plan, or the name of the first invalid field; each route words its own message. */
export function planSpeech(wish: SpeechWish): SpeechPlan | 'voice' | 'language' | 'speed' | 'text' {
  const { text, voice = DEFAULT_VOICE, languageCode = DEFAULT_LANGUAGE, speed = 1 } = wish;
  const speaker = speechVoice(voice);
  if (speaker === undefined) return 'voice';
  const language = engineLanguage(languageCode);
  if (language === undefined) return 'language';
  if (!(speed >= SLOWEST_SPEED && speed <= FASTEST_SPEED)) return 'speed';
  if (!isSpeakable(text)) return 'text';
  const wanted = speaker.rate * speed;
  const rate = Math.round(Math.min(ENGINE_RATES.fastest, Math.max(ENGINE_RATES.slowest, wanted)));
  return {
    text: plainText(text),
    voice: speaker.speaker === '' ? language : `${language}+${speaker.speaker}`,
    ...{ rate, stretch: wanted / rate, pitch: speaker.pitch },
  };
}

/** Removes what the engine takes as commands: control characters, and phonemes in double brackets. */
function plainText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, ' ').replaceAll(/\[(?=\[)/g, '[ ');
}

function isSpeakable(text: string): boolean {
  return /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(text);
}

/** `too_long`: the speech exceeds `MAX_SPEECH_SECONDS`. Throws the signal's reason on abort. */
export async function synthesise(
  espeakPath: string,
  { stretch, text, ...speaker }: SpeechPlan,
  { workFolder, signal }: { workFolder: string; signal: AbortSignal },
): Promise<{ end: RunEnd | 'too_long'; wavPath: string }> {
  const [textPath, wavPath] = [join(workFolder, 'speech.txt'), join(workFolder, 'speech.wav')];
  await writeFile(textPath, text);
  const longestSeconds = MAX_SPEECH_SECONDS * stretch;
  const maxFileBytes = WAV_HEADER_BYTES + Math.ceil(longestSeconds * WAV_BYTES_PER_SECOND);
  const limits = { timeoutMs: SYNTHESIS_TIMEOUT_MS, maxFileBytes };
  const end = await ffmpeg.synthesise({ espeakPath, textPath, wavPath, ...speaker, ...limits }, signal);
  if (end === 'aborted') throw signal.reason;
  const isFull = end === 'failed' && (await sizeOf(wavPath)) > maxFileBytes - PIECE_BYTES;
  return { end: isFull ? 'too_long' : end, wavPath };
}

async function sizeOf(path: string): Promise<number> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return 0;
  try {
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

/** Measures the output, since the engine also succeeds on text that it has no sound for. */
export async function listen(wavPath: string): Promise<{ seconds: number; isAudible: boolean }> {
  const file = await open(wavPath, 'r');
  try {
    const { size } = await file.stat();
    const seconds = Math.max(0, size - WAV_HEADER_BYTES) / WAV_BYTES_PER_SECOND;
    const piece = Buffer.alloc(PIECE_BYTES);
    for (let at = WAV_HEADER_BYTES; at < size; at += PIECE_BYTES) {
      const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, at);
      if (hasSound(piece.subarray(0, bytesRead))) return { seconds, isAudible: true };
    }
    return { seconds, isAudible: false };
  } finally {
    await file.close();
  }
}

function hasSound(samples: Buffer): boolean {
  for (let at = 0; at + 2 <= samples.length; at += 2) {
    if (Math.abs(samples.readInt16LE(at)) > AUDIBLE) return true;
  }
  return false;
}

/** Input and filter options for playing the WAV at the given speed and sample rate. Output options follow. */
export function fromSpeech(wavPath: string, stretch: number, samplesPerSecond: number): string[] {
  return [
    ...['-y', '-threads', '1', '-filter_threads', '1', '-protocol_whitelist', 'file,pipe'],
    ...['-codec_whitelist', 'pcm_s16le', '-f', 'wav', '-i', `file:${wavPath}`, '-map', '0:a:0'],
    ...['-af', [...tempo(stretch), `aresample=${samplesPerSecond}`].join(','), '-ac', '1'],
  ];
}

/** The filter takes no factor below 0.5. */
function tempo(factor: number): string[] {
  if (Math.abs(factor - 1) < 0.01) return [];
  if (factor < 0.5) return ['atempo=0.5', ...tempo(factor / 0.5)];
  return [`atempo=${factor.toFixed(6)}`];
}

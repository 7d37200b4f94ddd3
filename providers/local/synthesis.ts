/** From a text to a WAV by the synthesiser on this machine: what queued and immediate speech have in common. */
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
/** Digits and signs are spoken as words: a short text may take long to say. */
export const MAX_SPEECH_SECONDS = 3_600;

const WAV_HEADER_BYTES = 44;
const WAV_BYTES_PER_SECOND = SPEECH_RATE * 2;
const SYNTHESIS_TIMEOUT_MS = 180_000;
/** What the engine can do itself, in words a minute; the rest is stretched. */
const ENGINE_RATES = { slowest: 80, fastest: 450 };
/** A sample above it is heard: 46 dB below full scale. */
const AUDIBLE = 160;
const PIECE_BYTES = 65_536;

export interface SpeechPlan {
  text: string;
  voice: string;
  rate: number;
  pitch: number;
  /** By how much the engine's speech is played faster. */
  stretch: number;
}

interface SpeechWish {
  text: string;
  voice: string | undefined;
  /** ISO 639-1; undefined for the default, as the voice and the speed. */
  languageCode: string | undefined;
  speed: number | undefined;
}

/** A word says which part of the wish cannot be fulfilled, the first one; each route has its own words for it. */
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

/** Without what the engine takes as a command: control characters, and phonemes in double brackets. */
function plainText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, ' ').replaceAll(/\[(?=\[)/g, '[ ');
}

/** Whether there is anything that has a sound. */
function isSpeakable(text: string): boolean {
  return /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(text);
}

/** `too_long`: it would be spoken for more than `MAX_SPEECH_SECONDS`. Throws the signal's reason when it is aborted. */
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

/** The engine ends well on a text that it has no sound for: what it wrote tells. */
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

/** How ffmpeg reads what the engine wrote, and plays it at the wanted pace and rate; before the options of the output. */
export function fromSpeech(wavPath: string, stretch: number, samplesPerSecond: number): string[] {
  return [
    ...['-y', '-threads', '1', '-filter_threads', '1', '-protocol_whitelist', 'file,pipe'],
    ...['-codec_whitelist', 'pcm_s16le', '-f', 'wav', '-i', `file:${wavPath}`, '-map', '0:a:0'],
    ...['-af', [...tempo(stretch), `aresample=${samplesPerSecond}`].join(','), '-ac', '1'],
  ];
}

/** The filter takes no factor below a half. */
function tempo(factor: number): string[] {
  if (Math.abs(factor - 1) < 0.01) return [];
  if (factor < 0.5) return ['atempo=0.5', ...tempo(factor / 0.5)];
  return [`atempo=${factor.toFixed(6)}`];
}

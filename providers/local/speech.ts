/** Speech from text by the synthesiser on this machine (ESPEAK_PATH), as an MP3. The same order gives the same bytes. */
import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ffmpeg } from '../../infra/media/ffmpeg.ts';
import type { MediaTools } from '../../infra/media/mediaTools.ts';
import { SPEECH_RATE } from '../../infra/media/runEspeak.ts';
import type { RunEnd } from '../../infra/media/runLimited.ts';
import { withHeartbeat } from '../heartbeat.ts';
import type { AudioRequest, CallContext, Outcome } from '../provider.ts';
import { unserved } from '../unserved.ts';
import { asMp3, MP3_CONTENT_TYPE } from './mp3.ts';
import { DEFAULT_LANGUAGE, engineLanguage, SPEECH_LANGUAGES } from './speechLanguages.ts';
import { SPEECH_VOICES, type SpeechVoice, speechVoice } from './speechVoices.ts';

/** The longest text of one order; ten minutes or so at speed 1. */
export const LONGEST_PROMPT = 10_000;
/** Digits and signs are spoken as words: a short text may take long to say. */
const LONGEST_SPEECH_SECONDS = 3_600;
const SLOWEST_SPEED = 0.25;
const FASTEST_SPEED = 4;
const DEFAULT_VOICE = 'narrator';

const WAV_HEADER_BYTES = 44;
const WAV_BYTES_PER_SECOND = SPEECH_RATE * 2;
const SYNTHESIS_TIMEOUT_MS = 180_000;
/** What the engine can do itself, in words a minute; the rest is stretched. */
const ENGINE_RATES = { slowest: 80, fastest: 450 };
const MP3_KILOBITS = 96;
const MP3_BYTES_PER_SECOND = (MP3_KILOBITS * 1_000) / 8;
/** A sample above it is heard: 46 dB below full scale. */
const AUDIBLE = 160;
const PIECE_BYTES = 65_536;

export async function speak(
  tools: MediaTools,
  request: AudioRequest,
  context: CallContext,
): Promise<Outcome> {
  const { espeakPath } = tools;
  if (espeakPath === undefined) return unserved(request);
  const plan = planOf(request);
  if (typeof plan === 'string') return wrongOrder(plan);
  return await withHeartbeat(context, async () => {
    const wavPath = join(context.workFolder, 'speech.wav');
    const spoken = await synthesise(espeakPath, { ...plan, wavPath }, context);
    if (spoken !== 'finished') return spoken;
    const heard = await listen(wavPath);
    if (!heard.isAudible) return wrongOrder('There is nothing in the prompt that can be spoken.');
    return await encode(tools, { ...plan, wavPath, seconds: heard.seconds / plan.stretch }, context);
  });
}

interface Plan {
  text: string;
  voice: string;
  rate: number;
  pitch: number;
  /** By how much the engine's speech is played faster. */
  stretch: number;
}

/** A string says what is wrong with the order. */
function planOf({ prompt, voice = DEFAULT_VOICE, languageCode, speed = 1 }: AudioRequest): Plan | string {
  const speaker = speechVoice(voice);
  if (speaker === undefined) {
    return `Unknown voice: ${shown(voice)}. It is one of ${Object.keys(SPEECH_VOICES).join(', ')}.`;
  }
  const language = engineLanguage(languageCode ?? DEFAULT_LANGUAGE);
  if (language === undefined) {
    return `The language ${shown(String(languageCode))} is not spoken. It is one of ${SPEECH_LANGUAGES.join(', ')}.`;
  }
  if (!(speed >= SLOWEST_SPEED && speed <= FASTEST_SPEED)) {
    return `The speed ${speed} is not from ${SLOWEST_SPEED} to ${FASTEST_SPEED}.`;
  }
  if (prompt.length > LONGEST_PROMPT) {
    return `The prompt has ${prompt.length} characters; at most ${LONGEST_PROMPT} are spoken.`;
  }
  const text = plainText(prompt);
  if (!/[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(text)) {
    return 'There is nothing in the prompt that can be spoken.';
  }
  return { text, ...pace(speaker, speed), voice: voiceOf(language, speaker), pitch: speaker.pitch };
}

function voiceOf(language: string, { speaker }: SpeechVoice): string {
  return speaker === '' ? language : `${language}+${speaker}`;
}

function pace(voice: SpeechVoice, speed: number): Pick<Plan, 'rate' | 'stretch'> {
  const wanted = voice.rate * speed;
  const { slowest, fastest } = ENGINE_RATES;
  const rate = Math.round(Math.min(fastest, Math.max(slowest, wanted)));
  return { rate, stretch: wanted / rate };
}

/** Without what the engine takes as a command: control characters, and phonemes in double brackets. */
function plainText(prompt: string): string {
  return prompt.replaceAll(/[^\P{Cc}\n\t]/gu, ' ').replaceAll(/\[(?=\[)/g, '[ ');
}

function shown(word: string): string {
  return JSON.stringify(word.slice(0, 60));
}

interface Words extends Plan {
  wavPath: string;
}

async function synthesise(
  espeakPath: string,
  { text, voice, rate, pitch, stretch, wavPath }: Words,
  context: CallContext,
): Promise<Outcome | 'finished'> {
  const textPath = join(context.workFolder, 'speech.txt');
  await writeFile(textPath, text);
  const longestSeconds = LONGEST_SPEECH_SECONDS * stretch;
  const maxFileBytes = WAV_HEADER_BYTES + Math.ceil(longestSeconds * WAV_BYTES_PER_SECOND);
  const end = await ffmpeg.synthesise(
    { espeakPath, textPath, wavPath, voice, rate, pitch, timeoutMs: SYNTHESIS_TIMEOUT_MS, maxFileBytes },
    context.signal,
  );
  if (end === 'aborted') throw context.signal.reason;
  if (end === 'finished') return end;
  const isFull = end === 'failed' && (await sizeOf(wavPath)) > maxFileBytes - PIECE_BYTES;
  return isFull ? tooLong() : failedBy(end);
}

function tooLong(): Outcome {
  const minutes = LONGEST_SPEECH_SECONDS / 60;
  return wrongOrder(
    `Speaking the prompt takes longer than ${minutes} minutes: shorten it or raise the speed.`,
  );
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
async function listen(wavPath: string): Promise<{ seconds: number; isAudible: boolean }> {
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

async function encode(
  tools: MediaTools,
  { wavPath, stretch, seconds }: Words & { seconds: number },
  context: CallContext,
): Promise<Outcome> {
  const path = join(context.workFolder, 'output.mp3');
  const conversion = {
    ffmpegPath: tools.ffmpegPath,
    arguments: [
      ...['-y', '-threads', '1', '-filter_threads', '1', '-protocol_whitelist', 'file,pipe'],
      ...['-codec_whitelist', 'pcm_s16le', '-f', 'wav', '-i', `file:${wavPath}`, '-map', '0:a:0'],
      ...['-af', [...tempo(stretch), 'aresample=44100'].join(','), '-ac', '1'],
      ...[...asMp3(MP3_KILOBITS), `file:${path}`, '-progress', 'pipe:1'],
    ],
    timeoutMs: 30_000 + seconds * 500,
    maxFileBytes: Math.ceil((seconds + 10) * MP3_BYTES_PER_SECOND * 1.5),
  };
  const end = await ffmpeg.convert(conversion, { signal: context.signal, onProgress: context.heartbeat });
  await rm(wavPath);
  if (end === 'aborted') throw context.signal.reason;
  if (end !== 'finished') return failedBy(end);
  return { status: 'done', output: { path, contentType: MP3_CONTENT_TYPE } };
}

/** The filter takes no factor below a half. */
function tempo(factor: number): string[] {
  if (Math.abs(factor - 1) < 0.01) return [];
  if (factor < 0.5) return ['atempo=0.5', ...tempo(factor / 0.5)];
  return [`atempo=${factor.toFixed(6)}`];
}

function wrongOrder(message: string): Outcome {
  return { status: 'refused', reason: 'invalid_request', message };
}

function failedBy(end: RunEnd): Outcome {
  const message = end === 'timed_out' ? 'Speaking took too long.' : 'The prompt could not be spoken.';
  return { status: 'refused', reason: 'failed', message };
}

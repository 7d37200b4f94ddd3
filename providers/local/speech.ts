/** Text to MP3 by the synthesiser on this machine (ESPEAK_PATH). Equal orders give equal bytes. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunEnd } from '../../engines/child/runLimited.ts';
import { ffmpeg } from '../../engines/media/ffmpeg.ts';
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import { unservedOutcome } from '../shared/failedReply.ts';
import type { AudioRequest, CallContext, Outcome } from '../shared/provider.ts';
import { asMp3, MP3_CONTENT_TYPE } from './ffmpegOptions.ts';
import { SPEECH_LANGUAGES, SPEECH_VOICES } from './speechVoices.ts';
import {
  FASTEST_SPEED,
  fromSpeech,
  listen,
  MAX_SPEECH_SECONDS,
  planSpeech,
  SLOWEST_SPEED,
  type SpeechPlan,
  synthesise,
} from './synthesis.ts';

/** Longest text of one order in characters: about ten minutes at speed 1. */
export const MAX_PROMPT_LENGTH = 10_000;

const NOTHING_TO_SAY = 'There is nothing in the prompt that can be spoken.';
const MP3_KILOBITS = 96;
const MP3_BYTES_PER_SECOND = (MP3_KILOBITS * 1_000) / 8;

export async function speak(tools: MediaTools, request: AudioRequest, context: CallContext): Promise<Outcome> {
  const { espeakPath } = tools;
  if (espeakPath === undefined) return unservedOutcome(request);
  const plan = planOf(request);
  if (typeof plan === 'string') return wrongOrder(plan);
  const { end, wavPath } = await synthesise(espeakPath, plan, context);
  if (end === 'too_long') return tooLong();
  if (end !== 'finished') return failedBy(end);
  const heard = await listen(wavPath);
  if (!heard.isAudible) return wrongOrder(NOTHING_TO_SAY);
  return await encode(tools, { ...plan, wavPath, seconds: heard.seconds / plan.stretch }, context);
}

/** A string is the error message for the client. */
function planOf({ prompt, voice, languageCode, speed }: AudioRequest): SpeechPlan | string {
  const plan = planSpeech({ text: prompt, voice, languageCode, speed });
  if (plan === 'voice') {
    return `Unknown voice: ${shown(voice)}. It is one of ${Object.keys(SPEECH_VOICES).join(', ')}.`;
  }
  if (plan === 'language') {
    return `The language ${shown(languageCode)} is not spoken. It is one of ${SPEECH_LANGUAGES.join(', ')}.`;
  }
  if (plan === 'speed') return `The speed ${speed} is not from ${SLOWEST_SPEED} to ${FASTEST_SPEED}.`;
  if (prompt.length > MAX_PROMPT_LENGTH) {
    return `The prompt has ${prompt.length} characters; at most ${MAX_PROMPT_LENGTH} are spoken.`;
  }
  return plan === 'text' ? NOTHING_TO_SAY : plan;
}

function shown(word: string | undefined): string {
  return JSON.stringify(String(word).slice(0, 60));
}

function tooLong(): Outcome {
  const minutes = MAX_SPEECH_SECONDS / 60;
  return wrongOrder(`Speaking the prompt takes longer than ${minutes} minutes: shorten it or raise the speed.`);
}

async function encode(
  tools: MediaTools,
  { wavPath, stretch, seconds }: SpeechPlan & { wavPath: string; seconds: number },
  context: CallContext,
): Promise<Outcome> {
  const path = join(context.workFolder, 'output.mp3');
  const conversion = {
    ffmpegPath: tools.ffmpegPath,
    arguments: [
      ...fromSpeech(wavPath, stretch, 44_100),
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

function wrongOrder(message: string): Outcome {
  return { status: 'refused', reason: 'refused', message };
}

function failedBy(end: RunEnd): Outcome {
  const message = end === 'timed_out' ? 'Speaking took too long.' : 'The prompt could not be spoken.';
  return { status: 'refused', reason: 'failed', message };
}

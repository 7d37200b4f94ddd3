/** Synchronous speech by the synthesiser on this machine (ESPEAK_PATH), in every format and as a stream. */
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { FareboxError } from '../../domain/errors.ts';
import { UpstreamFailure } from '../../domain/upstreamFailure.ts';
import type { RunEnd } from '../../engines/child/runLimited.ts';
import { type FfmpegConversion, ffmpeg } from '../../engines/media/ffmpeg.ts';
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import { createSemaphore, type Semaphore, type SemaphoreOptions } from '../../infra/semaphore.ts';
import { tooBusy } from '../../infra/tooBusy.ts';
import type { MediaCallContext, MediaProvider, SpeechFormat, SpeechOrder } from '../shared/mediaProvider.ts';
import { asMp3, WITHOUT_METADATA } from './ffmpegOptions.ts';
import { followFile } from './followFile.ts';
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

/** Synthesising takes one core, and so does encoding. */
const TURNS: SemaphoreOptions = { atOnce: availableParallelism(), maxWaiting: 64, maxWaitMs: 30_000 };
const busy = tooBusy('texts are being spoken', 10);

/** Rate of all formats. Clients expect it of `pcm`, which does not state its rate. */
const SAMPLES_PER_SECOND = 24_000;

interface Encoding {
  options: readonly string[];
  /** Upper limit of the bytes per second of sound. */
  bytesPerSecond: number;
  /** The header contains the length, so the file must be complete before it is sent. */
  isWhole?: boolean;
}

const AS_STREAM = [...WITHOUT_METADATA, '-flush_packets', '1'];
/** Omits the header with the length, which is written last, too late for a stream. */
const WITHOUT_LENGTH = ['-write_xing', '0', '-flush_packets', '1'];
const ENCODINGS: Record<SpeechFormat, Encoding> = {
  mp3: { options: [...asMp3(96), ...WITHOUT_LENGTH], bytesPerSecond: 24_000 },
  opus: {
    options: ['-c:a', 'libopus', '-b:a', '48k', ...AS_STREAM, '-page_duration', '200000', '-f', 'ogg'],
    bytesPerSecond: 32_000,
  },
  aac: { options: ['-c:a', 'aac', '-b:a', '64k', ...AS_STREAM, '-f', 'adts'], bytesPerSecond: 24_000 },
  flac: {
    options: ['-c:a', 'flac', '-sample_fmt', 's16', ...WITHOUT_METADATA, '-f', 'flac'],
    bytesPerSecond: 64_000,
    isWhole: true,
  },
  wav: {
    options: ['-c:a', 'pcm_s16le', ...WITHOUT_METADATA, '-f', 'wav'],
    bytesPerSecond: 48_000,
    isWhole: true,
  },
  pcm: { options: ['-c:a', 'pcm_s16le', '-flush_packets', '1', '-f', 's16le'], bytesPerSecond: 48_000 },
};

export function localSpeaker(tools: MediaTools, options = TURNS): Pick<MediaProvider, 'checkSpeech' | 'speak'> {
  const turns = createSemaphore(options);
  return {
    checkSpeech: (order) => void planOf(order),
    async speak(order, context) {
      const plan = planOf(order);
      const wavPath = await turns.run(() => sound(tools, plan, context), context.signal).catch(busy);
      const { seconds, isAudible } = await listen(wavPath);
      if (!isAudible) throw nothingToSay();
      const path = join(context.workFolder, `speech.out.${order.format}`);
      const encoding = ENCODINGS[order.format];
      const length = seconds / plan.stretch;
      const conversion = {
        ffmpegPath: tools.ffmpegPath,
        arguments: [...fromSpeech(wavPath, plan.stretch, SAMPLES_PER_SECOND), ...[...encoding.options, `file:${path}`]],
        timeoutMs: 30_000 + length * 500,
        maxFileBytes: Math.ceil((length + 10) * encoding.bytesPerSecond),
      };
      return { bytes: await encode(conversion, { path, encoding, wavPath, turns, signal: context.signal }) };
    },
  };
}

/** Throws FareboxError if the order cannot be spoken. */
function planOf({ text, voice, language, speed }: SpeechOrder): SpeechPlan {
  const code = language === undefined ? undefined : languageCode(language);
  const plan = planSpeech({ text, voice, languageCode: code, speed });
  if (plan === 'voice') {
    const voices = Object.keys(SPEECH_VOICES);
    throw wrong('voice', `The voice is one of ${voices.join(', ')}`, { supported_voices: voices });
  }
  if (plan === 'language') {
    throw wrong('language', `The language is not spoken; it is one of ${SPEECH_LANGUAGES.join(', ')}`);
  }
  if (plan === 'speed') throw wrong('speed', `The speed is from ${SLOWEST_SPEED} to ${FASTEST_SPEED}`);
  if (plan === 'text') throw nothingToSay();
  return plan;
}

const ENGLISH_NAMES = new Intl.DisplayNames('en', { type: 'language' });
const CODES = new Map(SPEECH_LANGUAGES.map((code) => [ENGLISH_NAMES.of(code)?.toLowerCase(), code]));

/** Accepts `de`, `de-AT` and `German`. */
function languageCode(named: string): string {
  const name = named.trim().toLowerCase();
  return CODES.get(name) ?? name.split(/[-_]/)[0] ?? '';
}

function nothingToSay(): FareboxError {
  return wrong('input', 'There is nothing in the text that can be spoken');
}

function wrong(field: string, message: string, details?: Record<string, readonly string[]>): FareboxError {
  return new FareboxError({
    code: 'invalid_request',
    message,
    fields: { [field]: [message] },
    ...(details && { details }),
  });
}

async function sound({ espeakPath }: MediaTools, plan: SpeechPlan, context: MediaCallContext): Promise<string> {
  if (espeakPath === undefined) {
    throw new UpstreamFailure({ reason: 'credential', detail: 'no speech synthesiser at this provider' });
  }
  const { end, wavPath } = await synthesise(espeakPath, plan, context);
  if (end === 'finished') return wavPath;
  if (end !== 'too_long') throw brokenOff(end);
  const minutes = MAX_SPEECH_SECONDS / 60;
  throw wrong('input', `Speaking the text takes longer than ${minutes} minutes: shorten it or raise the speed`);
}

interface EncodedSpeech {
  path: string;
  wavPath: string;
  encoding: Encoding;
  turns: Semaphore;
  signal: AbortSignal;
}

/** Resolves when the first bytes are available, or throws. Ending the read stops the encoder. */
async function encode(
  conversion: FfmpegConversion,
  { path, wavPath, encoding, turns, signal }: EncodedSpeech,
): Promise<AsyncIterable<Buffer>> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const options = { signal: either, onProgress: () => undefined };
  const run = turns.run(() => ffmpeg.convert(conversion, options), either).catch(busy);
  const finished = run.then((end) => {
    if (end === 'aborted') throw either.reason;
    if (end !== 'finished') throw brokenOff(end);
  });
  const whole = finished.finally(() => rm(wavPath, { force: true }));
  // The reader gets the error.
  whole.catch(() => undefined);
  if (encoding.isWhole) await whole;
  const bytes = followFile(path, { whole, stop: () => stop.abort() });
  return begun(await bytes.next(), bytes);
}

/** Iterates `first`, then `rest`. Ending it before the first byte still stops the encoder. */
function begun(first: IteratorResult<Buffer, void>, rest: AsyncGenerator<Buffer, void>) {
  let ahead: typeof first | undefined = first;
  const iterator = {
    async next() {
      const now = ahead ?? (await rest.next());
      ahead = undefined;
      return now;
    },
    return: () => rest.return(),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

function brokenOff(end: RunEnd): UpstreamFailure {
  const reason = end === 'timed_out' ? 'timeout' : 'failed';
  return new UpstreamFailure({ reason, detail: `speaking the text ended: ${end}` });
}

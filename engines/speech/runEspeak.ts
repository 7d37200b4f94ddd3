/**
 * Runs the speech synthesiser espeak-ng within the limits of all media programs. The text comes from a file, never from
 * an argument. It is not interpreted as markup, because `-m` is not set.
 */
import { type LimitedRun, type RunEnd, runLimited } from '../child/runLimited.ts';

export interface Synthesis extends Pick<LimitedRun, 'timeoutMs' | 'maxFileBytes'> {
  espeakPath: string;
  /** File in UTF-8. */
  textPath: string;
  /** Output: a mono 16-bit WAV of `SPEECH_RATE`. */
  wavPath: string;
  /** Name of a language and a speaker in the engine, such as `en-us+f3`. */
  voice: string;
  /** Words per minute, 80 to 450. */
  rate: number;
  /** 0 to 99. 50 is the speaker's natural pitch. */
  pitch: number;
}

/** Samples per second. The engine writes no other rate. */
export const SPEECH_RATE = 22_050;

export function runEspeak(synthesis: Synthesis, signal?: AbortSignal): Promise<RunEnd> {
  const { espeakPath, textPath, wavPath, voice, rate, pitch, timeoutMs, maxFileBytes } = synthesis;
  return runLimited({
    title: 'espeak-ng',
    program: espeakPath,
    arguments: [
      ...['-b', '1', '-v', voice, '-s', String(rate), '-p', String(pitch)],
      ...['-f', textPath, '-w', wavPath],
    ],
    timeoutMs,
    maxFileBytes,
    signal,
  });
}

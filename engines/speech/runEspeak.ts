/**
 * One run of the speech synthesiser espeak-ng under the limits of every media program. The text comes from a file, never as
 * an argument, and is no markup: the engine is not told to look for any (`-m`).
 */
import { type LimitedRun, type RunEnd, runLimited } from '../child/runLimited.ts';

export interface Synthesis extends Pick<LimitedRun, 'timeoutMs' | 'maxFileBytes'> {
  espeakPath: string;
  /** UTF-8. */
  textPath: string;
  /** Where the speech goes: a mono 16-bit WAV of `SPEECH_RATE`. */
  wavPath: string;
  /** The engine's name of a language and a speaker, e.g. `en-us+f3`. */
  voice: string;
  /** Words a minute, 80 to 450. */
  rate: number;
  /** 0 to 99; 50 is the speaker's own. */
  pitch: number;
}

/** Samples a second; the engine writes no other. */
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

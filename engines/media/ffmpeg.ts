/**
 * Runs ffmpeg, the speech synthesiser and the recogniser through a small child process. Starting a program copies the
 * page tables of the parent: this blocks a worker of 250 MB for 10 ms, but that child for less than 2 ms.
 */

import { hold, type KeptChild, shippedChild, startChild, unrefChild } from '../child/keptChild.ts';
import type { RunEnd } from '../child/runLimited.ts';
import type { Synthesis } from '../speech/runEspeak.ts';
import type { Recognition, RecognitionResult } from '../speech/runPocketsphinx.ts';
import type { DecodedAudio, DecodeRequest } from './decodeAudio.ts';
import type { DecodedPictures, DecodePicturesRequest } from './decodePictures.ts';
import type { Progress } from './progress.ts';
import type { FfmpegEnd, FfmpegRun } from './runFfmpeg.ts';

export type FfmpegConversion = Pick<FfmpegRun, 'ffmpegPath' | 'arguments' | 'timeoutMs' | 'maxFileBytes'>;

export type FfmpegTask =
  | { task: 'decode'; request: Omit<DecodeRequest, 'signal'> }
  | { task: 'decode_pictures'; request: Omit<DecodePicturesRequest, 'signal'> }
  | { task: 'convert'; request: FfmpegConversion }
  | { task: 'synthesise'; request: Synthesis }
  | { task: 'recognise'; request: Recognition };
export type FfmpegOrder = { run: number } & (FfmpegTask | { task: 'abort' });

export type FfmpegAnswer =
  | { run: number; result: DecodedAudio | DecodedPictures | RecognitionResult | FfmpegEnd }
  | { run: number; failed: string }
  | { run: number; progress: Progress };

export interface Ffmpeg {
  /** Decodes and counts samples. Rejects on abort, and when ffmpeg cannot run, which is not the file's fault. */
  decodeAudio(request: DecodeRequest): Promise<DecodedAudio>;
  /** The same for the pictures of an image or video, and for the video's sound. */
  decodePictures(request: DecodePicturesRequest): Promise<DecodedPictures>;
  /** Calls `onProgress` repeatedly, and once more at the end. */
  convert(
    conversion: FfmpegConversion,
    options: { signal: AbortSignal; onProgress: (progress: Progress) => void },
  ): Promise<FfmpegEnd>;
  /** Synthesises speech. Rejects when the engine cannot run, which is not the text's fault. */
  synthesise(synthesis: Synthesis, signal: AbortSignal): Promise<RunEnd>;
  /** Recognises words in speech. Rejects when the recogniser cannot run. */
  recognise(recognition: Recognition, signal: AbortSignal): Promise<RecognitionResult>;
  /** Ends all runs and the child. */
  close(): void;
}

const HEAP_MB = 128;
/** The child itself does almost no work. Programs that it starts have their own limits. */
const CPU_SECONDS = 86_400;
/** Extra time after the time limit of a run, for the child to report its end. */
const ANSWER_LIMIT_MS = 15_000;

interface Run {
  answered(answer: FfmpegAnswer): void;
  lost(why: string): void;
}

interface Starter {
  child: KeptChild;
  runs: Map<number, Run>;
}

export function createFfmpeg(childPath = shippedChild('engines/media/ffmpegChild')): Ffmpeg {
  let starter: Starter | undefined;

  function current(): Starter {
    if (starter?.child.process.connected) return starter;
    starter = startStarter(childPath);
    return starter;
  }

  return {
    decodeAudio({ signal, ...request }) {
      const { timeoutMs } = request;
      return perform(current(), { task: 'decode', request }, { timeoutMs, signal });
    },
    decodePictures({ signal, ...request }) {
      const { timeoutMs } = request;
      return perform(current(), { task: 'decode_pictures', request }, { timeoutMs, signal });
    },
    convert(request, { signal, onProgress }) {
      const { timeoutMs } = request;
      return perform(current(), { task: 'convert', request }, { timeoutMs, signal, onProgress });
    },
    synthesise(request, signal) {
      const { timeoutMs } = request;
      return perform(current(), { task: 'synthesise', request }, { timeoutMs, signal });
    },
    recognise(request, signal) {
      const { timeoutMs } = request;
      return perform(current(), { task: 'recognise', request }, { timeoutMs, signal });
    },
    close() {
      if (starter?.child.process.connected) starter.child.process.disconnect();
    },
  };
}

interface RunOptions {
  timeoutMs: number;
  signal: AbortSignal | undefined;
  onProgress?: (progress: Progress) => void;
}

const PROGRAMS: Partial<Record<FfmpegTask['task'], string>> = {
  synthesise: 'the speech synthesiser',
  recognise: 'the speech recogniser',
};

let lastRun = 0;

function perform<Result>({ child, runs }: Starter, task: FfmpegTask, options: RunOptions): Promise<Result> {
  const { timeoutMs, signal, onProgress } = options;
  lastRun += 1;
  const run = lastRun;
  return new Promise<Result>((resolve, reject) => {
    const abort = () => child.process.send({ run, task: 'abort' }, () => undefined);
    const over = () => {
      clearTimeout(expiry);
      signal?.removeEventListener('abort', abort);
      runs.delete(run);
      if (runs.size === 0) unrefChild(child);
    };
    const fail = (error: Error) => {
      over();
      reject(error);
    };
    const program = PROGRAMS[task.task] ?? 'ffmpeg';
    const lost = (why: string) => fail(new Error(`${program} could not be run: ${why}`));
    const answered = (answer: FfmpegAnswer) => {
      if ('progress' in answer) return onProgress?.(answer.progress);
      if ('failed' in answer) return lost(answer.failed);
      over();
      resolve(answer.result as Result);
    };
    const send = () => {
      // An aborted run is never sent.
      if (signal?.aborted) fail(signal.reason);
      else child.process.send({ ...task, run }, (error) => error && lost(error.message));
    };
    // A child that does not answer is useless for other runs too.
    const expiry = setTimeout(() => child.process.kill('SIGKILL'), timeoutMs + ANSWER_LIMIT_MS);
    runs.set(run, { lost, answered });
    hold(child);
    signal?.addEventListener('abort', abort, { once: true });
    child.started.then(send, (error: Error) => lost(error.message));
  });
}

function startStarter(path: string): Starter {
  const child = startChild({ path, heapMb: HEAP_MB, cpuSeconds: CPU_SECONDS, name: 'ffmpeg' });
  const runs = new Map<number, Run>();
  child.process.on('message', (answer: FfmpegAnswer | 'ready') => {
    if (answer !== 'ready') runs.get(answer.run)?.answered(answer);
  });
  const lose = () => {
    for (const run of [...runs.values()]) run.lost('its child process ended');
  };
  child.process.on('exit', lose);
  return { child, runs };
}

/** Shared by the process. Its child starts with the first run. */
export const ffmpeg = createFfmpeg();

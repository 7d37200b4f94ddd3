/**
 * Entry point of the child that runs ffmpeg, the speech synthesiser and the recogniser. It exits with its parent, and
 * its programs with it. A small process copies few page tables per start (bench `jobs`).
 */

import { runEspeak } from '../speech/runEspeak.ts';
import { runPocketsphinx } from '../speech/runPocketsphinx.ts';
import { decodeAudio } from './decodeAudio.ts';
import { decodePictures } from './decodePictures.ts';
import type { FfmpegAnswer, FfmpegOrder, FfmpegTask } from './ffmpeg.ts';
import { readProgress } from './progress.ts';
import { runFfmpeg } from './runFfmpeg.ts';

const running = new Map<number, AbortController>();

process.on('disconnect', () => {
  for (const controller of running.values()) controller.abort();
  process.exit(0);
});
process.on('message', (order: FfmpegOrder) => {
  if (order.task === 'abort') running.get(order.run)?.abort();
  else void perform(order.run, order);
});

async function perform(run: number, task: FfmpegTask): Promise<void> {
  const controller = new AbortController();
  running.set(run, controller);
  try {
    tell({ run, result: await resultOf(run, task, controller.signal) });
  } catch (error) {
    tell({ run, failed: error instanceof Error ? error.message : String(error) });
  } finally {
    running.delete(run);
  }
}

async function resultOf(run: number, task: FfmpegTask, signal: AbortSignal) {
  if (task.task === 'decode') return await decodeAudio({ ...task.request, signal });
  if (task.task === 'decode_pictures') return await decodePictures({ ...task.request, signal });
  if (task.task === 'synthesise') return await runEspeak(task.request, signal);
  if (task.task === 'recognise') return await runPocketsphinx(task.request, signal);
  const read = readProgress();
  const onOutput = (piece: Buffer) => {
    tell({ run, progress: read(piece) });
    return true;
  };
  return await runFfmpeg({ ...task.request, signal, onOutput });
}

function tell(answer: FfmpegAnswer): void {
  if (process.connected) process.send?.(answer);
}

process.send?.('ready');

/** Runs ffmpeg and the recogniser directly on a recording, as a floor. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { modelArguments } from '../../engines/speech/runPocketsphinx.ts';

const RATE = 16_000;

/** Resolves with milliseconds. */
export async function recognitionFloor(
  environment: Readonly<Record<string, string>>,
  { recording, folder }: { recording: string; folder: string },
): Promise<number> {
  const work = mkdtempSync(path.join(folder, 'heard-'));
  const program = (name: string) => environment[name] ?? '';
  const call = promisify(execFile);
  try {
    const startMs = performance.now();
    const mono = ['-ac', '1', '-ar', String(RATE), '-f', 's16le', path.join(work, 'whole.raw')];
    await call(program('FFMPEG_PATH'), ['-v', 'error', '-i', recording, ...mono]);
    writeFileSync(path.join(work, 'control'), 'whole.raw\n');
    await call(program('POCKETSPHINX_PATH'), [
      ...modelArguments(program('POCKETSPHINX_MODEL')),
      ...['-cepdir', work, '-cepext', '', '-ctl', path.join(work, 'control'), '-hyp', path.join(work, 'words')],
    ]);
    return performance.now() - startMs;
  } finally {
    rmSync(work, { recursive: true });
  }
}

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createFfmpeg, type Ffmpeg, type FfmpegConversion } from '../../../engines/media/ffmpeg.ts';
import { ROOT } from '../../harness/spawn.ts';
import { until } from '../../harness/until.ts';
import { JFK, mediaTools } from './recordings.ts';

const folder = mkdtempSync(join(tmpdir(), 'farebox-ffmpeg-'));
const opened: Ffmpeg[] = [];
const open = (childPath?: string) => {
  const ffmpeg = createFfmpeg(childPath);
  opened.push(ffmpeg);
  return ffmpeg;
};

afterEach(() => {
  for (const ffmpeg of opened.splice(0)) ffmpeg.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs for an hour unless it is stopped. */
function endless(name: string, timeoutMs = 60_000): FfmpegConversion {
  return {
    ffmpegPath: mediaTools().ffmpegPath,
    arguments: [
      ...['-y', '-re', '-f', 'lavfi', '-i', 'sine=duration=3600', '-f', 'mp3', join(folder, name)],
      ...['-progress', 'pipe:1'],
    ],
    timeoutMs,
    maxFileBytes: 100_000_000,
  };
}

/** Processes with this text in their command line. */
function processesOf(name: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(folder, name));
    } catch {
      return false;
    }
  });
}

const quietly = { signal: new AbortController().signal, onProgress: () => undefined };
const decoding = {
  ...{ path: JFK, demuxer: 'flac', demuxerOptions: [], decoders: ['flac'] },
  ...{ maxSeconds: 60, timeoutMs: 20_000 },
};

describe('a run of ffmpeg', () => {
  it('decodes its input, and reports its progress', async () => {
    const ffmpeg = open();
    const decoded = await ffmpeg.decodeAudio({ ...decoding, ffmpegPath: mediaTools().ffmpegPath });
    expect(decoded).toMatchObject({ end: 'finished', codec: 'flac', streams: ['audio'] });
    expect(decoded.seconds).toBeCloseTo(11, 1);
    const controller = new AbortController();
    let told = 0;
    const onProgress = () => {
      told += 1;
    };
    const end = ffmpeg.convert(endless('told.mp3'), { signal: controller.signal, onProgress });
    await until('it tells of its progress', () => told > 1);
    controller.abort();
    expect(await end).toBe('aborted');
  });

  it('reports an abort when its process has ended', async () => {
    const controller = new AbortController();
    const end = open().convert(endless('aborted.mp3'), { ...quietly, signal: controller.signal });
    await until('it runs', () => processesOf('aborted.mp3').length > 0);
    controller.abort();
    expect(await end).toBe('aborted');
    await until('it is gone', () => processesOf('aborted.mp3').length === 0);
  });

  it('aborted before its start does not start', async () => {
    const controller = new AbortController();
    const end = open().convert(endless('never.mp3'), { ...quietly, signal: controller.signal });
    controller.abort(new Error('given up'));
    await expect(end).rejects.toThrow('given up');
    expect(processesOf('never.mp3')).toEqual([]);
  });

  it('is stopped when it takes too long', async () => {
    expect(await open().convert(endless('late.mp3', 600), quietly)).toBe('timed_out');
    expect(processesOf('late.mp3')).toEqual([]);
  });

  it('fails when its child process ends, and the next run succeeds', async () => {
    const ffmpeg = open();
    const end = ffmpeg.convert(endless('orphan.mp3'), quietly);
    const failing = expect(end).rejects.toThrow('its child process ended');
    await until('it runs', () => processesOf('orphan.mp3').length > 0);
    ffmpeg.close();
    await failing;
    await until('it is gone', () => processesOf('orphan.mp3').length === 0);
    const decoded = await ffmpeg.decodeAudio({ ...decoding, ffmpegPath: mediaTools().ffmpegPath });
    expect(decoded.end).toBe('finished');
  });

  it('ends with its parent process, however that ended', async () => {
    const module = pathToFileURL(join(ROOT, 'dist/engines/media/ffmpeg.js')).href;
    const program =
      `import { ffmpeg } from ${JSON.stringify(module)};\n` +
      `const options = { signal: new AbortController().signal, onProgress() {} };\n` +
      `await ffmpeg.convert(${JSON.stringify(endless('parent.mp3'))}, options);\n`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
    await until('it runs', () => processesOf('parent.mp3').some((pid) => pid !== String(parent.pid)));
    parent.kill('SIGKILL');
    await until('it is gone', () => processesOf('parent.mp3').length === 0);
  });

  it('blames no file when no child starts, or ffmpeg is missing', async () => {
    const missing = fileURLToPath(new URL('./no-such-child.mjs', import.meta.url));
    await expect(open(missing).convert(endless('x.mp3'), quietly)).rejects.toThrow('could not be run');
    const without = { ...endless('x.mp3'), ffmpegPath: '/no/such/ffmpeg' };
    await expect(open().convert(without, quietly)).rejects.toThrow('could not be run');
  });
});

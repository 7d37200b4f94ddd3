/** Audio and video of the simulator, measured on the files. */
import { execFileSync } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SIMULATOR_MUSIC } from '../../../domain/catalogue/builtin/offlineAudio.ts';
import { verifyAudio } from '../../../engines/media/measureAudio.ts';
import type { AudioRequest, GenerationRequest, MediaFile, VideoRequest } from '../../../providers/shared/provider.ts';
import type { SimulatorFault } from '../../../providers/simulator/settings.ts';
import { banner } from '../../../providers/simulator/testPattern.ts';
import { mediaTools } from '../../engines/media/recordings.ts';
import { ranMs } from '../../harness/stall.ts';
import { decodeSamples } from '../local/pitch.ts';
import { audio, context, pathOf, simulator, useSimulatorState, video } from './mediaOrders.ts';

useSimulatorState();

async function made(request: GenerationRequest): Promise<string> {
  return pathOf(await simulator().start(request, await context()));
}

interface Stream {
  codec_type: string;
  codec_name: string;
  width?: number;
  height?: number;
  nb_frames: string;
  pix_fmt?: string;
}

function probed(path: string): { streams: Stream[]; format: { duration: string; tags?: object } } {
  const show = ['-v', 'error', '-show_streams', '-show_format', '-of', 'json', path];
  return JSON.parse(execFileSync(mediaTools().ffprobePath, show, { encoding: 'utf8' }));
}

describe('a melody', () => {
  it.each([1, 2, 7, 60, 600])('of %d seconds has exactly that length', async (durationSeconds) => {
    const bytes = await readFile(await made(audio({ durationSeconds })));
    expect(bytes.readUInt32LE(4) + 8).toBe(bytes.length);
    expect(bytes.length - bytes.indexOf('data') - 8).toBe(durationSeconds * 16_000 * 2);
    expect(bytes.toString('latin1', 0, 200)).toContain('Farebox simulator: a test melody');
  });

  it('passes the check before storing, and is declared as a WAV', async () => {
    const outcome = await simulator().start(audio(), await context());
    expect(outcome).toMatchObject({ status: 'done', output: { contentType: 'audio/wav' } });
    expect(await verifyAudio(pathOf(outcome))).toMatchObject({ format: 'wav' });
  });

  it('is audible from beginning to end, and never distorted', async () => {
    const samples = decodeSamples(mediaTools().ffmpegPath, await made(audio({ durationSeconds: 4 })));
    const peak = (from: number, to: number) => Math.max(...samples.subarray(from, to).map(Math.abs));
    for (let second = 0; second < 4; second += 1) {
      expect(peak(second * 16_000, (second + 1) * 16_000)).toBeGreaterThan(0.05);
    }
    expect(peak(0, samples.length)).toBeLessThan(0.9);
  });

  it.each<[string, Partial<AudioRequest>]>([
    ['prompt', { prompt: 'another prompt altogether' }],
    ['lyrics', { lyrics: 'la la la' }],
    ['instrumental', { forceInstrumental: true }],
    ['optimizer', { lyricsOptimizer: true }],
    ['loop', { loop: true }],
  ])('depends on the %s', async (_field, change) => {
    const [one, same, other] = [await made(audio()), await made(audio()), await made(audio(change))];
    expect((await readFile(one)).equals(await readFile(same))).toBe(true);
    expect((await readFile(one)).equals(await readFile(other))).toBe(false);
  });

  it('without an ordered length is as long as its text at the ordered speed', async () => {
    const words = { prompt: 'x'.repeat(150) };
    const size = async (change: Partial<AudioRequest>) => {
      const { durationSeconds: _none, ...order } = audio({ ...words, ...change });
      return (await stat(await made(order))).size;
    };
    expect((await size({})) / 32_000).toBeCloseTo(10, 1);
    expect((await size({ speed: 2 })) / 32_000).toBeCloseTo(5, 1);
  });

  it('longer than an hour is refused as a client error', async () => {
    expect(await simulator().start(audio({ durationSeconds: 3_601 }), await context())).toMatchObject({
      status: 'refused',
      reason: 'refused',
    });
  });

  it('accepts every field and length of its catalogue entry, which states its nature', async () => {
    const { spec, name, description } = SIMULATOR_MUSIC;
    expect(`${name} ${description}`).toMatch(/test melody/);
    const all = { lyrics: 'la', forceInstrumental: false, lyricsOptimizer: false, loop: true };
    for (const durationSeconds of [spec.min_duration, spec.default_duration, spec.max_duration]) {
      await expect(made(audio({ ...all, durationSeconds }))).resolves.toContain('simulated.wav');
    }
  });

  it('of ten seconds takes a few milliseconds', async () => {
    const startMs = ranMs();
    for (let turn = 0; turn < 5; turn += 1) await made(audio({ durationSeconds: 10, prompt: `prompt ${turn}` }));
    expect((ranMs() - startMs) / 5).toBeLessThan(500);
  });
});

function medium(change: Partial<MediaFile>): MediaFile {
  return {
    role: 'video',
    index: 0,
    kind: 'video',
    sizeBytes: 1,
    sha256: 'ab',
    contentType: 'video/mp4',
    path: '/nowhere/source',
    ...change,
  };
}

describe('a video', () => {
  const source = medium({ width: 320, height: 240, seconds: 3 });
  const largest = { ...source, width: 1_280, height: 720, seconds: 1 };
  it.each<[string, Partial<VideoRequest>, [number, number, number]]>([
    ['in the ordered shape', {}, [456, 256, 2]],
    ['upright', { aspectRatio: '9:16' }, [256, 456, 2]],
    ['as large as any', { resolution: '4k', durationSeconds: 1, audio: true }, [3840, 2160, 1]],
    ['square', { aspectRatio: '1:1', resolution: '360p' }, [360, 360, 2]],
    ['of a size that is spelt otherwise', { resolution: '768P', durationSeconds: 1 }, [1366, 768, 1]],
    [
      'shaped like its picture',
      { aspectRatio: 'adaptive', media: [medium({ role: 'image', width: 100, height: 200 })] },
      [256, 512, 2],
    ],
    [
      'changed: as long and large as its source',
      { media: [source], resolution: undefined, durationSeconds: undefined } as never,
      [320, 240, 3],
    ],
    [
      'enlarged to the most',
      { media: [largest], upscale: { factor: 4 }, durationSeconds: undefined } as never,
      [5120, 2880, 1],
    ],
    [
      'enlarged and slowed down',
      { media: [source], upscale: { factor: 2, slowdownFactor: 2 }, durationSeconds: undefined } as never,
      [640, 480, 6],
    ],
  ])('%s', async (_what, change, [width, height, seconds]) => {
    const { streams, format } = probed(await made(video(change)));
    expect(streams[0]).toMatchObject({
      codec_type: 'video',
      codec_name: 'h264',
      pix_fmt: 'yuv420p',
      width,
      height,
    });
    expect(Number(streams[0]?.nb_frames)).toBe(seconds * 8);
    expect(Math.abs(Number(format.duration) - seconds)).toBeLessThan(0.1);
  });

  it('has a quiet tone when sound is ordered, and no sound track otherwise', async () => {
    const path = await made(video({ audio: true }));
    expect(probed(path).streams.map(({ codec_name: name }) => name)).toEqual(['h264', 'aac']);
    const samples = decodeSamples(mediaTools().ffmpegPath, path);
    const peak = Math.max(...samples.map(Math.abs));
    expect(peak).toBeGreaterThan(0.001);
    expect(peak).toBeLessThan(0.05);
    expect(probed(await made(video({ audio: false }))).streams).toHaveLength(1);
  });

  it('shows the word SIMULATED in its middle, and names the simulator inside the file', async () => {
    const path = await made(video());
    expect(JSON.stringify(probed(path).format.tags)).toContain('Farebox simulator: a test pattern');
    expect(banner(456)).toContain(':text=SIMULATED:');
    const middle = ['-frames:v', '1', '-f', 'rawvideo', 'pipe:1'];
    const shown = (input: string[], before: string) => {
      const filters = `${before}format=gray,crop=iw*0.6:ih*0.08:iw*0.2:ih*0.46`;
      return execFileSync(mediaTools().ffmpegPath, ['-v', 'error', ...input, '-vf', filters, ...middle]);
    };
    const expected = shown(['-f', 'lavfi', '-i', 'color=black:s=456x256'], `${banner(456)},`);
    const seen = shown(['-i', path], '');
    const alike = expected.filter((value, index) => value > 127 === (seen[index] ?? 0) > 127);
    const white = expected.filter((value) => value > 127);
    expect(white.length / expected.length).toBeGreaterThan(0.1);
    expect(alike.length / expected.length).toBeGreaterThan(0.97);
  });

  it('depends on its order alone, byte for byte', async () => {
    const bytes = async (change: Partial<VideoRequest>) => readFile(await made(video(change)));
    const one = await bytes({});
    expect(one.equals(await bytes({}))).toBe(true);
    expect(one.equals(await bytes({ prompt: 'a desert at noon' }))).toBe(false);
    expect(one.equals(await bytes({ media: [medium({ role: 'image', sha256: 'cd' })] }))).toBe(false);
  });

  it('above the maximum size is refused as a client error before it is accepted', async () => {
    const request = video({ resolution: '4k', aspectRatio: '9:21', media: [] });
    const huge = video({ media: [{ ...source, width: 3_000 }], upscale: { factor: 4 } });
    expect((await simulator().start(huge, await context())).status).toBe('refused');
    const square = video({ media: [{ ...source, width: 1_280, height: 1_280 }], upscale: { factor: 4 } });
    expect((await simulator().start(square, await context())).status).toBe('refused');
    expect(await simulator().find?.(huge.reference, await context())).toBeUndefined();
    expect(await simulator({ latencyMs: 60_000 }).start(request, await context())).toMatchObject({
      status: 'running',
    });
  });

  it('of two seconds is cheap enough for thousands in tests', async () => {
    const startMs = ranMs();
    await made(video({ prompt: 'prompt' }));
    expect(ranMs() - startMs).toBeLessThan(3_000);
  });

  it('ends at once when it is aborted', async () => {
    const abort = new AbortController();
    const running = simulator().start(video({ resolution: '4k', durationSeconds: 60 }), await context(abort.signal));
    setTimeout(() => abort.abort(new Error('given up')), 300);
    await expect(running).rejects.toThrow('given up');
  });
});

const ORDERS = { audio: () => audio(), video: () => video() };

describe.each(['audio', 'video'] as const)('an order for %s', (kind) => {
  const order = ORDERS[kind];
  const fault = (change: Partial<SimulatorFault>): SimulatorFault => ({
    at: 'submit',
    kind: 'reply-lost',
    every: 1,
    ...change,
  });

  it('runs for the latency, and its handle contains nothing of the prompt', async () => {
    const request = order();
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const started = await simulator({ latencyMs: 400 }).start(request, await context());
    if (started.status !== 'running') throw new Error(started.status);
    expect(JSON.parse(JSON.stringify(started.operation))).toEqual(started.operation);
    expect(JSON.stringify(started.operation)).not.toContain(request.prompt);
    vi.setSystemTime(Date.now() + 400);
    const checked = await simulator().check?.(started.operation, await context());
    const direct = await made(order());
    expect((await readFile(pathOf(checked))).equals(await readFile(direct))).toBe(true);
  });

  it('is found again after a lost reply', async () => {
    const request = order();
    const lost = await simulator({ faults: [fault({})] }).start(request, await context());
    expect(lost.status).toBe('unknown');
    const found = await simulator().find?.(request.reference, await context());
    expect((await stat(pathOf(found))).size).toBeGreaterThan(1_000);
  });

  it.each(['garbage-output', 'empty-output', 'truncated-output'] as const)(
    'ends in a file that no program can read whole: %s',
    async (outcome) => {
      const path = pathOf(await simulator({ outcome }).start(order(), await context()));
      const whole = (await stat(await made(order()))).size;
      const { size } = await stat(path);
      if (outcome === 'empty-output') expect(size).toBe(0);
      if (outcome === 'truncated-output') {
        expect(size).toBeGreaterThan(whole * 0.3);
        expect(size).toBeLessThan(whole * 0.7);
      }
      if (kind === 'audio') expect(await verifyAudio(path)).toBeUndefined();
      else expect(() => execFileSync(mediaTools().ffprobePath, ['-v', 'error', path], { stdio: 'ignore' })).toThrow();
    },
  );

  it.each([
    ['content_policy', { status: 'refused', reason: 'content_policy' }],
    ['failed', { status: 'refused', reason: 'failed' }],
    ['busy', { status: 'busy', reason: 'concurrency' }],
    ['request-lost', { status: 'unknown' }],
  ] as const)('reports the fault %s', async (struck, expected) => {
    const provider = simulator({ faults: [fault({ kind: struck })] });
    expect(await provider.start(order(), await context())).toMatchObject(expected);
  });
});

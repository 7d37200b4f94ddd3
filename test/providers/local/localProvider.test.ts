import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_VOICE_CHANGER } from '../../../domain/catalogue/voiceChangers.ts';
import { createLocalProvider } from '../../../providers/local/localProvider.ts';
import { LOCAL_VOICES, type LocalVoice } from '../../../providers/local/voices.ts';
import type { Outcome, VoiceChangeRequest } from '../../../providers/shared/provider.ts';
import { ENCODINGS, encode, isLong, JFK, mediaTools } from '../../engines/media/recordings.ts';
import { decodeSamples, fundamentalHz, secondsOf, timbre, timbreDistance } from './pitch.ts';

// A test takes seconds, and longer on a busy machine.

const folder = mkdtempSync(join(tmpdir(), 'farebox local '));
let runs = 0;
let short: string;
let source: { hz: number; timbre: number[] };

beforeAll(() => {
  const samples = decodeSamples(mediaTools().ffmpegPath, JFK);
  source = { hz: fundamentalHz(samples), timbre: timbre(samples) };
  short = join(folder, 'short.wav');
  execFileSync(mediaTools().ffmpegPath, ['-v', 'error', '-i', JFK, '-t', '2', short]);
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Run {
  outcome: Outcome;
  path: string;
  heartbeats: number;
}

async function change(changes: Partial<VoiceChangeRequest>, signal = new AbortController().signal): Promise<Run> {
  const workFolder = join(folder, String(runs++));
  mkdirSync(workFolder);
  let heartbeats = 0;
  const outcome = await createLocalProvider(mediaTools()).start(
    {
      kind: 'voice-changer',
      reference: 'job-1',
      upstreamModel: 'ffmpeg-voice',
      sourcePath: JFK,
      sourceContentType: 'audio/flac',
      sourceDemuxer: 'flac',
      sourceSeconds: 11,
      voice: 'alto',
      removeBackgroundNoise: false,
      seed: 1,
      ...changes,
    },
    { workFolder, signal, heartbeat: () => (heartbeats += 1) },
  );
  return { outcome, path: join(workFolder, 'output.mp3'), heartbeats };
}

describe('each voice', () => {
  const heard = new Map<string, { hz: number; timbre: number[] }>();
  const voices: [string, LocalVoice][] = Object.entries(LOCAL_VOICES);

  for (const [name, voice] of voices) {
    it(`${name}: shifts the fundamental frequency as specified and keeps the length`, async () => {
      const { outcome, path, heartbeats } = await change({ voice: name });
      expect(outcome).toEqual({ status: 'done', output: { path, contentType: 'audio/mpeg' } });
      expect(heartbeats).toBeGreaterThan(0);
      const samples = decodeSamples(mediaTools().ffmpegPath, path);
      expect(Math.abs(secondsOf(samples) - 11)).toBeLessThan(0.2);
      const hz = fundamentalHz(samples, voice.pitchRatio);
      const ratio = hz / source.hz;
      expect(ratio / voice.pitchRatio).toBeGreaterThan(0.94);
      expect(ratio / voice.pitchRatio).toBeLessThan(1.06);
      heard.set(name, { hz, timbre: timbre(samples) });
    });
  }

  it('differs from the source and from every other voice', () => {
    expect(heard.size).toBeGreaterThanOrEqual(6);
    const all = [...heard, ['source', source] as const];
    for (const [index, [name, left]] of all.entries()) {
      for (const [other, right] of all.slice(index + 1)) {
        const pitch = Math.max(left.hz / right.hz, right.hz / left.hz);
        expect(pitch > 1.05 || timbreDistance(left.timbre, right.timbre) > 3, `${name} and ${other}`).toBe(true);
      }
    }
  });

  it('is in the catalogue', () => {
    expect([...LOCAL_VOICE_CHANGER.voices].sort()).toEqual(Object.keys(LOCAL_VOICES).sort());
  });
});

describe('an order', () => {
  it('gives the same bytes for the same seed, and other bytes for another seed or none', async () => {
    const order = { sourcePath: short, sourceDemuxer: 'wav', sourceSeconds: 2 };
    const bytes = async (changes: Partial<VoiceChangeRequest>) =>
      readFileSync((await change({ ...order, ...changes })).path);
    const first = await bytes({ seed: 7 });
    expect((await bytes({ seed: 7, reference: 'job-2' })).equals(first)).toBe(true);
    expect((await bytes({ seed: 8 })).equals(first)).toBe(false);
    const unseeded = await unseededOrders();
    expect(unseeded.first.equals(unseeded.again)).toBe(true);
    expect(unseeded.first.equals(unseeded.other)).toBe(false);
  });

  it('keeps nothing of the source but its sound', async () => {
    const tagged = join(folder, 'tagged.mp3');
    const { ffmpegPath, ffprobePath } = mediaTools();
    const tags = ['-metadata', 'title=secret title', '-metadata', 'comment=secret comment'];
    execFileSync(ffmpegPath, ['-v', 'error', '-i', JFK, '-t', '2', ...tags, tagged]);
    const { path } = await change({ sourcePath: tagged, sourceDemuxer: 'mp3', sourceSeconds: 2 });
    expect(readFileSync(path).includes('secret')).toBe(false);
    const shown = execFileSync(ffprobePath, ['-v', 'error', '-show_format', '-show_streams', '-of', 'json', path]);
    const { format, streams } = JSON.parse(shown.toString());
    expect(format.tags).toBeUndefined();
    expect(streams).toMatchObject([{ codec_name: 'mp3', sample_rate: '44100' }]);
  });

  it('accepts every listed format', async () => {
    const names = ['mp3', 'wav', 'vorbis', 'opus', 'flac', 'm4a', 'aac', 'webm opus'];
    for (const encoding of ENCODINGS.filter(({ name }) => isLong() || names.includes(name))) {
      const sourcePath = encode(encoding, { folder, seconds: 2 });
      const sourceDemuxer = { mp4: 'mov', webm: 'matroska' }[encoding.format as string] ?? encoding.format;
      const { outcome, path } = await change({ sourcePath, sourceDemuxer, sourceSeconds: 2 });
      expect(outcome.status, encoding.name).toBe('done');
      expect(Math.abs(secondsOf(decodeSamples(mediaTools().ffmpegPath, path)) - 2), encoding.name).toBeLessThan(0.2);
    }
  });

  it('removes hiss and hum when requested', async () => {
    const noisy = join(folder, 'noisy.wav');
    const noise = 'anoisesrc=color=white:amplitude=0.02:sample_rate=44100:duration=11:seed=1';
    const hum = 'sine=frequency=50:sample_rate=44100:duration=11,volume=0.3';
    const mix = '[0:a]aformat=channel_layouts=mono[a];[a][1:a][2:a]amix=inputs=3:duration=first:normalize=0';
    const inputs = ['-i', JFK, '-f', 'lavfi', '-i', noise, '-f', 'lavfi', '-i', hum];
    execFileSync(mediaTools().ffmpegPath, ['-v', 'error', ...inputs, '-filter_complex', mix, noisy]);
    const order = { sourcePath: noisy, sourceDemuxer: 'wav', voice: 'tenor' };
    const left = await quietestLevel({ ...order, removeBackgroundNoise: false });
    const removed = await quietestLevel({ ...order, removeBackgroundNoise: true });
    expect(left / removed).toBeGreaterThan(2);
  });

  it('for an unknown voice is refused as a client error', async () => {
    for (const voice of ['Aria', '', 'constructor', '__proto__', 'alto,volume=9']) {
      expect((await change({ voice })).outcome).toMatchObject({
        status: 'refused',
        reason: 'refused',
      });
    }
  });

  it('fails without an exception when the source cannot be read', async () => {
    const { outcome } = await change({ sourcePath: join(folder, 'nowhere.wav'), sourceDemuxer: 'wav' });
    expect(outcome).toMatchObject({ status: 'refused', reason: 'failed' });
  });

  it('ends at once when it is aborted', async () => {
    const reason = new Error('cancelled');
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 150);
    await expect(change({}, controller.signal)).rejects.toBe(reason);
  });

  it('leaves only the output in its folder', async () => {
    const { path } = await change({ sourcePath: short, sourceDemuxer: 'wav', sourceSeconds: 2 });
    expect(readdirSync(join(path, '..'))).toEqual(['output.mp3']);
  });
});

async function unseededOrders() {
  const unseeded = async (reference: string) => {
    const workFolder = join(folder, `unseeded-${runs++}`);
    mkdirSync(workFolder);
    const context = { workFolder, signal: new AbortController().signal, heartbeat: () => {} };
    const order = {
      kind: 'voice-changer',
      upstreamModel: 'x',
      voice: 'alto',
      removeBackgroundNoise: false,
    } as const;
    const from = {
      sourcePath: JFK,
      sourceContentType: 'audio/flac',
      sourceDemuxer: 'flac',
      sourceSeconds: 11,
    };
    await createLocalProvider(mediaTools()).start({ ...order, ...from, reference }, context);
    return readFileSync(join(workFolder, 'output.mp3'));
  };
  return { first: await unseeded('a'), again: await unseeded('a'), other: await unseeded('b') };
}

/** Root mean square of the quietest tenth of the recording: the noise level where nobody speaks. */
async function quietestLevel(order: Partial<VoiceChangeRequest>): Promise<number> {
  const samples = decodeSamples(mediaTools().ffmpegPath, (await change(order)).path);
  const levels: number[] = [];
  for (let start = 8_000; start + 800 <= samples.length - 8_000; start += 800) {
    const energy = samples.subarray(start, start + 800).reduce((sum, value) => sum + value * value, 0);
    levels.push(Math.sqrt(energy / 800));
  }
  levels.sort((left, right) => left - right);
  return levels[Math.floor(levels.length / 10)] ?? Number.NaN;
}

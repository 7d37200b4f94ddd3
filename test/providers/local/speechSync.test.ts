import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { LOCAL_SPEECH_SYNC } from '../../../domain/catalogue/builtin/offlineSpeech.ts';
import { FareboxError } from '../../../domain/errors.ts';
import { localSpeaker } from '../../../providers/local/speechSync.ts';
import { SPEECH_VOICES } from '../../../providers/local/speechVoices.ts';
import { SPEECH_FORMATS, type SpeechFormat, type SpeechOrder } from '../../../providers/shared/mediaProvider.ts';
import { mediaTools } from '../../engines/media/recordings.ts';
import { until } from '../../harness/until.ts';
import { processesWith } from './processes.ts';

const TEXT = 'The quick brown fox jumps over the lazy dog. Payments are settled, and nothing is lost.';
/** The maximum length of an order. */
const LONG = TEXT.concat(' ').repeat(60).slice(0, 4_096);
const folder = mkdtempSync(join(tmpdir(), 'farebox speech sync '));
let runs = 0;
afterAll(() => rmSync(folder, { recursive: true }));

interface Surroundings {
  tools?: ReturnType<typeof mediaTools>;
  signal?: AbortSignal;
  workFolder?: string;
}

function freshFolder(): string {
  const workFolder = join(folder, String(runs++));
  mkdirSync(workFolder);
  return workFolder;
}

function order(change: Partial<SpeechOrder>): SpeechOrder {
  return { upstreamModel: 'espeak-ng', endUser: 'somebody', text: TEXT, format: 'mp3', speed: 1, ...change };
}

async function begin(
  change: Partial<SpeechOrder>,
  { tools = mediaTools(), signal = new AbortController().signal, workFolder = freshFolder() }: Surroundings = {},
): Promise<AsyncIterable<Buffer>> {
  const { speak } = localSpeaker(tools);
  if (speak === undefined) throw new Error('it speaks nothing');
  return (await speak(order(change), { workFolder, signal })).bytes;
}

async function spoken(change: Partial<SpeechOrder> = {}, surroundings?: Surroundings): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of await begin(change, surroundings)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Measured by decoding, whatever the header says. */
function secondsOf(bytes: Buffer, format: SpeechFormat): number {
  const path = join(folder, `heard.${format}`);
  writeFileSync(path, bytes);
  const input = format === 'pcm' ? ['-f', 's16le', '-ar', '24000', '-ac', '1'] : [];
  const options = ['-v', 'error', ...input, '-i', path, '-ac', '1', '-ar', '8000', '-f', 'u8', 'pipe:1'];
  const decoded = execFileSync(mediaTools().ffmpegPath, options, { maxBuffer: 256 * 1024 * 1024 });
  return decoded.length / 8_000;
}

/** Container, codec, sample rate and channels by ffprobe. */
function headOf(bytes: Buffer, format: SpeechFormat): string {
  const path = join(folder, `head.${format}`);
  writeFileSync(path, bytes);
  const entries = 'stream=codec_name,sample_rate,channels:format=format_name';
  const options = ['-v', 'error', '-show_entries', entries, '-of', 'csv=p=0', path];
  return execFileSync(mediaTools().ffprobePath, options, { encoding: 'utf8' }).trim().split('\n').join(' ');
}

describe('each format', () => {
  const usual = spoken({ format: 'pcm' }).then(({ length }) => length / 48_000);

  it.each<[SpeechFormat, RegExp, string]>([
    ['mp3', /^\xff[\xf2\xf3]/, 'mp3,24000,1 mp3'],
    ['opus', /^OggS.{24}OpusHead/s, 'opus,48000,1 ogg'],
    ['aac', /^\xff[\xf0\xf1\xf8\xf9]/, 'aac,24000,1 aac'],
    ['flac', /^fLaC/, 'flac,24000,1 flac'],
    ['wav', /^RIFF.{4}WAVEfmt /s, 'pcm_s16le,24000,1 wav'],
  ])('%s has the format of its name and the same length as the others', async (format, signature, head) => {
    const bytes = await spoken({ format });
    expect(bytes.toString('latin1')).toMatch(signature);
    expect(headOf(bytes, format)).toBe(head);
    expect(Math.abs(secondsOf(bytes, format) - (await usual))).toBeLessThan(0.15);
  });

  it('pcm consists of bare samples at 24 kHz', async () => {
    const bytes = await spoken({ format: 'pcm' });
    expect(bytes.length % 2).toBe(0);
    expect(await usual).toBeGreaterThan(4);
    expect(await usual).toBeLessThan(9);
  });

  it('wav and flac state their length', async () => {
    const wav = await spoken({ format: 'wav' });
    expect(wav.readUInt32LE(4)).toBe(wav.length - 8);
    expect(wav.readUInt32LE(wav.indexOf('data') + 4)).toBe(wav.length - wav.indexOf('data') - 8);
    const flac = await spoken({ format: 'flac' });
    // 36 bits of STREAMINFO: the number of samples.
    expect(Math.abs(flac.readUInt32BE(22) / 24_000 - (await usual))).toBeLessThan(0.15);
  });

  it('contains no metadata about its encoder, and is the same for the same order', async () => {
    for (const format of SPEECH_FORMATS) {
      const bytes = await spoken({ format, text: 'The same.' });
      expect(bytes.equals(await spoken({ format, text: 'The same.' })), format).toBe(true);
      expect(bytes.toString('latin1'), format).not.toMatch(/Lav[cf]\d|ID3/);
    }
  });
});

describe('the stream', () => {
  it.each(['mp3', 'opus', 'aac', 'pcm'] as const)('sends %s while it is still being encoded', async (format) => {
    const workFolder = freshFolder();
    const pieces: number[] = [];
    let wasWritten = false;
    for await (const { length } of await begin({ format, text: LONG, speed: 0.25 }, { workFolder })) {
      wasWritten ||= pieces.length === 0 && processesWith(`speech.out.${format}`) > 0;
      pieces.push(length);
    }
    expect(wasWritten).toBe(true);
    expect(pieces.length).toBeGreaterThan(10);
  });

  it('stops the encoder when its reader pauses', async () => {
    const workFolder = freshFolder();
    for await (const _piece of await begin({ format: 'aac', text: LONG, speed: 0.25 }, { workFolder })) break;
    await until('nothing runs', () => processesWith(workFolder) === 0);
  });

  it('stops the encoder when nobody starts to read', async () => {
    const workFolder = freshFolder();
    const bytes = await begin({ format: 'aac', text: LONG, speed: 0.25 }, { workFolder });
    await bytes[Symbol.asyncIterator]().return?.();
    await until('nothing runs', () => processesWith(workFolder) === 0);
  });

  it('breaks when it is aborted, and leaves no process running', async () => {
    const workFolder = freshFolder();
    const controller = new AbortController();
    const { signal } = controller;
    const reading = async () => {
      for await (const _piece of await begin({ format: 'opus', text: LONG, speed: 0.25 }, { workFolder, signal })) {
        controller.abort(new Error('given up'));
      }
    };
    await expect(reading()).rejects.toThrow('given up');
    await until('nothing runs', () => processesWith(workFolder) === 0);
  });
});

describe('the order', () => {
  it.each([0.25, 0.5, 2, 4])('takes the time that speed %d implies', async (speed) => {
    const [usual, changed] = await Promise.all([spoken({ format: 'pcm' }), spoken({ format: 'pcm', speed })]);
    const ratio = usual.length / changed.length / speed;
    expect(ratio).toBeGreaterThan(0.85);
    expect(ratio).toBeLessThan(1.15);
  });

  it('uses the voice that the order names', async () => {
    const [narrator, child] = await Promise.all([spoken({ format: 'pcm' }), spoken({ format: 'pcm', voice: 'child' })]);
    expect(narrator.equals(child)).toBe(false);
    expect(LOCAL_SPEECH_SYNC.spec.voices).toEqual(Object.keys(SPEECH_VOICES));
    expect(LOCAL_SPEECH_SYNC.spec.supported_formats).toEqual([...SPEECH_FORMATS]);
  });

  it('uses the language that the order names by its code or its English name', async () => {
    const text = 'Guten Morgen, wie geht es Ihnen heute?';
    const [german, austrian, named, english] = await Promise.all(
      ['de', 'de-AT', 'German', undefined].map((language) =>
        spoken({ format: 'pcm', text, ...(language && { language }) }),
      ),
    );
    expect(austrian?.equals(german ?? Buffer.of())).toBe(true);
    expect(named?.equals(german ?? Buffer.of())).toBe(true);
    expect(english?.equals(german ?? Buffer.of())).toBe(false);
  });
});

describe('refusals before any charge', () => {
  it.each<[string, Partial<SpeechOrder>, string, RegExp]>([
    ['an unknown voice', { voice: 'alloy' }, 'voice', /one of narrator, deep/],
    ['a voice of the prototype', { voice: 'constructor' }, 'voice', /one of/],
    ['an unknown language', { language: 'Klingon' }, 'language', /not spoken.*en/],
    ['a language whose name is a path', { language: '../../etc' }, 'language', /not spoken/],
    ['a speed below the slowest', { speed: 0.2 }, 'speed', /0.25 to 4/],
    ['a speed that is no number', { speed: Number.NaN }, 'speed', /0.25 to 4/],
    ['nothing but punctuation', { text: '... --- !!! [[]] <>' }, 'input', /nothing in the text/],
    ['nothing but control characters', { text: ' \u0000\u0001\n\u0007 ' }, 'input', /nothing in the text/],
  ])('%s', (_what, change, field, message) => {
    const check = () => localSpeaker(mediaTools()).checkSpeech?.(order(change));
    expect(check).toThrow(FareboxError);
    expect(check).toThrow(message);
    try {
      check();
    } catch (error) {
      expect(Object.keys((error as FareboxError).fields ?? {})).toEqual([field]);
    }
  });

  it('lists the existing voices when the voice is unknown', () => {
    const check = () => localSpeaker(mediaTools()).checkSpeech?.(order({ voice: 'alloy' }));
    expect(check).toThrow(expect.objectContaining({ details: { supported_voices: Object.keys(SPEECH_VOICES) } }));
  });
});

describe('hostile text that is spoken as text', () => {
  const evil = join(folder, 'evil.wav');

  it.each([
    ['as long as may be', LONG],
    ['4,096 characters without a blank', 'a'.repeat(4_096)],
    ['options', `--help -w ${evil} -v de`],
    ['a command of the shell', `$(touch ${evil}); \`touch ${evil}\` | tee ${evil}`],
    ['SSML', '<speak>hello <break time="60s"/> <audio src="file:///etc/passwd"/></speak>'],
    ['emoji alone', '😀🎉👩‍👩‍👧‍👦'],
    ['a zero byte', 'one\u0000 two three'],
    ['a lone surrogate', 'broken \ud800 pair'],
    ['right to left', '\u202eשלום עולם\u202c and back'],
  ])('%s', async (_what, text) => {
    expect((await spoken({ format: 'pcm', text })).length).toBeGreaterThan(10_000);
    expect(existsSync(evil)).toBe(false);
  });
});

describe('the machine', () => {
  it('reports an operator error when no engine is configured', async () => {
    const { espeakPath: _none, ...tools } = mediaTools();
    await expect(spoken({}, { tools })).rejects.toMatchObject({ reason: 'credential' });
  });

  it('fails before the first byte when the program of the engine or encoder is missing', async () => {
    const noEngine = { ...mediaTools(), espeakPath: '/no/such/espeak-ng' };
    await expect(begin({}, { tools: noEngine })).rejects.toThrow('espeak-ng could not be run');
    const noEncoder = { ...mediaTools(), ffmpegPath: '/no/such/ffmpeg' };
    await expect(begin({}, { tools: noEncoder })).rejects.toThrow('ffmpeg could not be run');
  });

  it('reports a retry delay when too many texts are being spoken', async () => {
    const espeakPath = join(folder, 'endless-engine');
    writeFileSync(espeakPath, '#!/bin/sh\nexec /bin/sleep 60\n', { mode: 0o700 });
    const limits = { atOnce: 1, maxWaiting: 1, maxWaitMs: 200 };
    const { speak } = localSpeaker({ ...mediaTools(), espeakPath }, limits);
    const leaving = new AbortController();
    const say = (signal: AbortSignal) => speak?.(order({}), { workFolder: freshFolder(), signal });
    const first = say(leaving.signal);
    const { signal } = new AbortController();
    for (const told of await Promise.allSettled([say(signal), say(signal)])) {
      expect(told).toMatchObject({ reason: { code: 'unavailable', retryAfterSeconds: 10 } });
    }
    leaving.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
  });
});

it('limits concurrent speech and reports a retry delay after too long a wait', async () => {
  const { speak } = localSpeaker(mediaTools(), { atOnce: 1, maxWaiting: 1, maxWaitMs: 50 });
  const { signal } = new AbortController();
  const all = await Promise.allSettled(
    [1, 2, 3].map(() => speak?.(order({ text: LONG }), { workFolder: freshFolder(), signal })),
  );
  const refused = { code: 'unavailable', retryAfterSeconds: 10 };
  expect(all).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: refused },
    { status: 'rejected', reason: refused },
  ]);
});

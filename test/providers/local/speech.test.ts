import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { LOCAL_SPEECH } from '../../../domain/catalogue/builtin/offlineAudio.ts';
import { createLocalProvider } from '../../../providers/local/localProvider.ts';
import { MAX_PROMPT_LENGTH } from '../../../providers/local/speech.ts';
import { engineLanguage, SPEECH_LANGUAGES, SPEECH_VOICES } from '../../../providers/local/speechVoices.ts';
import type { AudioRequest, Outcome } from '../../../providers/shared/provider.ts';
import { mediaTools } from '../../engines/media/recordings.ts';
import { services } from '../../harness/services.ts';
import { decodeSamples, fundamentalHz, secondsOf, timbre, timbreDistance } from './pitch.ts';

// A test takes seconds, and longer on a busy machine.

const TEXT = 'The quick brown fox jumps over the lazy dog. Payments are settled, and nothing is lost.';
const folder = mkdtempSync(join(tmpdir(), 'farebox speech '));
let runs = 0;
afterAll(() => rmSync(folder, { recursive: true }));

interface Spoken {
  outcome: Outcome;
  path: string;
  heartbeats: number;
}

async function speak(
  change: Partial<AudioRequest>,
  signal = new AbortController().signal,
  tools = mediaTools(),
): Promise<Spoken> {
  const workFolder = join(folder, String(runs++));
  mkdirSync(workFolder);
  let heartbeats = 0;
  const outcome = await createLocalProvider(tools).start(
    { kind: 'audio', reference: 'job-1', upstreamModel: 'espeak-ng', prompt: TEXT, ...change },
    { workFolder, signal, heartbeat: () => (heartbeats += 1) },
  );
  return { outcome, path: join(workFolder, 'output.mp3'), heartbeats };
}

async function heard(change: Partial<AudioRequest>): Promise<Float32Array> {
  const { outcome, path } = await speak(change);
  expect(outcome).toEqual({ status: 'done', output: { path, contentType: 'audio/mpeg' } });
  return decodeSamples(mediaTools().ffmpegPath, path);
}

function loudness(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / samples.length);
}

describe('each voice', () => {
  const voices = Object.keys(SPEECH_VOICES);
  const measured = new Map<string, { hz: number; timbre: number[]; seconds: number }>();

  it.each(voices)('%s speaks audibly, at a human pace', async (voice) => {
    const samples = await heard({ voice });
    const seconds = secondsOf(samples);
    expect(loudness(samples)).toBeGreaterThan(0.01);
    expect(TEXT.length / seconds).toBeGreaterThan(9);
    expect(TEXT.length / seconds).toBeLessThan(20);
    measured.set(voice, { hz: fundamentalHz(samples), timbre: timbre(samples), seconds });
  });

  it('differs from every other one in pitch or timbre', () => {
    const table = [...measured].map(([voice, { hz, seconds }]) => `${voice} ${hz.toFixed(0)} ${seconds}`);
    expect(measured.size, table.join(', ')).toBe(voices.length);
    for (const [one, left] of measured) {
      for (const [other, right] of measured) {
        if (one >= other) continue;
        const semitones = Math.abs(12 * Math.log2(left.hz / right.hz));
        const differs = semitones > 2 || timbreDistance(left.timbre, right.timbre) > 2.5;
        expect([one, other, semitones, timbreDistance(left.timbre, right.timbre), differs].join(' ')).toMatch(/true$/);
      }
    }
  });

  it('has the pitch of its description: the deep voice lowest, the child highest', () => {
    const hz = (voice: string) => measured.get(voice)?.hz ?? Number.NaN;
    expect(hz('deep')).toBeLessThan(hz('narrator'));
    expect(hz('narrator')).toBeLessThan(hz('clear'));
    expect(hz('clear')).toBeLessThan(hz('bright'));
    expect(hz('deep') * 2).toBeLessThan(hz('child'));
  });
});

describe('the order', () => {
  it('gives the same bytes each time, without any metadata', async () => {
    const [one, other] = [await speak({ voice: 'clear' }), await speak({ voice: 'clear', reference: 'job-2' })];
    const bytes = readFileSync(one.path);
    expect(bytes.equals(readFileSync(other.path))).toBe(true);
    expect(bytes.includes('ID3')).toBe(false);
    expect(bytes.toString('latin1')).not.toMatch(/Lav[cf]\d/);
  });

  it('is an MP3 of 44.1 kHz', async () => {
    const head = readFileSync((await speak({})).path).subarray(0, 4);
    // Sync word, MPEG 1 layer III; then the bits of the sample rate: 00 is 44.1 kHz.
    expect([head[0], (head[1] ?? 0) & 0xfe, ((head[2] ?? 0) >> 2) & 3]).toEqual([0xff, 0xfa, 0]);
  });

  it('produces another sound for another text', async () => {
    const one = await heard({ prompt: 'Seven ships sail south.' });
    const other = await heard({ prompt: 'Many a moon may move.' });
    expect(timbreDistance(timbre(one), timbre(other))).toBeGreaterThan(1);
  });

  it.each([0.25, 0.5, 2, 4])('takes the time that speed %d implies', async (speed) => {
    const [usual, changed] = [await heard({}), await heard({ speed })];
    const ratio = secondsOf(usual) / secondsOf(changed) / speed;
    expect(ratio).toBeGreaterThan(0.85);
    expect(ratio).toBeLessThan(1.15);
  });

  it.each([
    ['de', 'Guten Morgen, wie geht es Ihnen heute?'],
    ['fr', 'Bonjour tout le monde, comment allez-vous?'],
    ['zh', '你好，世界，今天天气很好'],
    ['ar', 'مرحبا بالعالم'],
    ['ru', 'Доброе утро, как дела?'],
  ])('sounds different in the language %s than in English', async (languageCode, prompt) => {
    const own = await heard({ prompt, languageCode });
    expect(loudness(own)).toBeGreaterThan(0.01);
    const english = await heard({ prompt });
    expect(Math.abs(secondsOf(own) - secondsOf(english))).toBeGreaterThan(0.05);
  });

  it('is supported by the engine in every listed language', () => {
    const listed = execFileSync(services().espeakPath, ['--voices'], { encoding: 'utf8' });
    const names = new Set([...listed.matchAll(/^\s*\d+\s+(\S+)/gm)].map((row) => row[1]));
    expect(SPEECH_LANGUAGES.length).toBeGreaterThan(70);
    expect(SPEECH_LANGUAGES.filter((code) => !names.has(engineLanguage(code) ?? ''))).toEqual([]);
    expect(SPEECH_LANGUAGES.filter((code) => !/^[a-z]{2}$/.test(code))).toEqual([]);
  });
});

describe('refusals of text that cannot be spoken', () => {
  it.each<[string, Partial<AudioRequest>, RegExp]>([
    ['an unknown language', { languageCode: 'xx' }, /language "xx" is not spoken.*en/],
    ['a language whose name is a path', { languageCode: '../../../etc' }, /"..\/..\/..\/etc" is not spoken/],
    ['an unknown voice', { voice: 'nobody' }, /Unknown voice: "nobody".*narrator/],
    ['a voice of the prototype', { voice: 'constructor' }, /Unknown voice: "constructor"/],
    ['a speed below the slowest', { speed: 0.2 }, /speed 0.2 is not from 0.25 to 4/],
    ['a speed that is no number', { speed: Number.NaN }, /speed NaN/],
    ['a text of 100 kB', { prompt: 'word '.repeat(20_000) }, /100000 characters; at most 10000/],
    ['nothing but blanks and control characters', { prompt: ' \u0000\u0001\n\u0007 ' }, /nothing in the prompt/],
    ['nothing but punctuation', { prompt: '... --- !!! [[]] <>' }, /nothing in the prompt/],
  ])('%s', async (_what, change, message) => {
    const { outcome } = await speak(change);
    expect(outcome).toMatchObject({ status: 'refused', reason: 'refused' });
    expect((outcome as { message: string }).message).toMatch(message);
  });

  it('refuses a text that would take hours to speak', async () => {
    const { outcome } = await speak({ prompt: '9'.repeat(19).concat(' ').repeat(500), speed: 0.25 });
    expect(outcome).toMatchObject({
      status: 'refused',
      reason: 'refused',
      message: expect.stringContaining('longer than 60 minutes'),
    });
  });
});

describe('hostile text that is spoken as text', () => {
  const evil = join(folder, 'evil.wav');

  it.each([
    ['options', `--help -w ${evil} -v de`],
    ['a leading dash', '-m'],
    ['a command of the shell', `$(touch ${evil}); \`touch ${evil}\` | tee ${evil}`],
    ['SSML', '<speak>hello <break time="60s"/> <audio src="file:///etc/passwd"/></speak>'],
    ['right to left', '\u202eשלום עולם\u202c and back'],
    ['emoji alone', '😀🎉👩‍👩‍👧‍👦'],
    ['a lone surrogate', 'broken \ud800 pair'],
    ['a very long word', 'a'.repeat(5_000)],
    ['many marks on one letter', `a${'\u0301'.repeat(3_000)}`],
    ['percent signs', '%s%n%x %1$s'],
  ])('%s', async (_what, prompt) => {
    const { outcome } = await speak({ prompt });
    expect(outcome).toMatchObject({ status: 'done' });
    expect(existsSync(evil)).toBe(false);
  });

  it('speaks the text after a zero byte', async () => {
    const whole = await heard({ prompt: 'one\u0000 two three four five six seven' });
    expect(secondsOf(whole)).toBeGreaterThan(1.5);
  });

  it('reads the markup of a pause aloud instead of pausing', async () => {
    const samples = await heard({ prompt: 'one <break time="30s"/> two' });
    expect(secondsOf(samples)).toBeLessThan(15);
  });

  it("speaks the engine's commands as ordinary words", async () => {
    const [phonemes, letters] = [await heard({ prompt: '[[kw1k]] [[f0ks]]' }), await heard({ prompt: 'kw1k f0ks' })];
    // As phonemes, the text would last half as long as when its letters and digits are read aloud.
    expect(secondsOf(phonemes)).toBeGreaterThan(secondsOf(letters) * 0.9);
    const [loud, same] = [await heard({ prompt: 'hello \u00010A world' }), await heard({ prompt: 'hello 0A world' })];
    expect(secondsOf(loud)).toBeCloseTo(secondsOf(same), 1);
  });
});

describe('the run', () => {
  it('reports its progress regularly', async () => {
    expect((await speak({})).heartbeats).toBeGreaterThan(0);
  });

  it('ends at once when it is aborted', async () => {
    const controller = new AbortController();
    const running = speak({ prompt: '12345 '.repeat(1_600) }, controller.signal);
    await sleep(300);
    controller.abort(new Error('given up'));
    await expect(running).rejects.toThrow('given up');
  });

  it('reports an unavailable model when no engine is configured', async () => {
    const { espeakPath: _none, ...tools } = mediaTools();
    const { outcome } = await speak({}, undefined, tools);
    expect(outcome).toMatchObject({ status: 'refused', reason: 'credential' });
  });

  it("reports a machine failure, not a client error, when the engine's program is missing", async () => {
    const tools = { ...mediaTools(), espeakPath: '/no/such/espeak-ng' };
    await expect(speak({}, undefined, tools)).rejects.toThrow('espeak-ng could not be run');
  });
});

it("the catalogue lists the engine's voices and languages", () => {
  expect(LOCAL_SPEECH.spec.voices).toEqual(Object.keys(SPEECH_VOICES));
  expect(LOCAL_SPEECH.spec.prompt_character_limit).toBe(MAX_PROMPT_LENGTH);
});

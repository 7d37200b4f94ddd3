import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { FareboxError } from '../../../domain/errors.ts';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { FORMAT_READINGS } from '../../../engines/media/formats.ts';
import { localTranscriber, MAX_RECORDING_SECONDS } from '../../../providers/local/transcribe.ts';
import type { Transcript, TranscriptionOrder } from '../../../providers/shared/mediaProvider.ts';
import { ENCODINGS, encode, isLong, JFK, mediaTools } from '../../engines/media/recordings.ts';
import { services } from '../../harness/services.ts';
import { until } from '../../harness/until.ts';
import { processesWith } from './processes.ts';
import { wordErrorRate } from './wordErrors.ts';

// A test takes seconds, and longer on a busy machine.

const CLEAR = fileURLToPath(new URL('../../fixtures/clear-speech.flac', import.meta.url));
const JFK_SAID =
  'And so my fellow Americans ask not what your country can do for you ask what you can do for your country';
const CLEAR_SAID =
  'please send the report to the office before noon on friday the weather is going to be cold and windy in the north ' +
  'this week we are open every day from nine in the morning until six in the evening';

const folder = mkdtempSync(join(tmpdir(), 'farebox transcribe '));
let runs = 0;
afterAll(() => rmSync(folder, { recursive: true }));

function order(path: string, more: Partial<TranscriptionOrder> = {}): TranscriptionOrder {
  return {
    upstreamModel: 'pocketsphinx',
    endUser: 'somebody',
    recording: { path, contentType: 'audio/flac', demuxer: 'flac', seconds: 11 },
    timestamps: false,
    ...more,
  };
}

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

async function transcribe(
  asked: TranscriptionOrder,
  { tools = mediaTools(), signal = new AbortController().signal, workFolder = freshFolder() }: Surroundings = {},
): Promise<Transcript> {
  const { transcribe: work } = localTranscriber(tools);
  if (work === undefined) throw new Error('it transcribes nothing');
  return await work(asked, { workFolder, signal });
}

const heard = new Map<string, Promise<Transcript>>();

/** Transcribes with timestamps; several tests share one result. */
function heardOf(path: string): Promise<Transcript> {
  const known = heard.get(path) ?? transcribe(order(path, { timestamps: true }));
  heard.set(path, known);
  return known;
}

/** Generates a FLAC recording with ffmpeg from `input`. */
function made(name: string, ...input: string[]): string {
  const path = join(folder, `${name}.flac`);
  execFileSync(mediaTools().ffmpegPath, ['-v', 'error', '-y', ...input, '-ac', '1', path]);
  return path;
}

describe('the transcript', () => {
  it('of clear synthetic speech has a word error rate of at most 0.15', async () => {
    const { text } = await heardOf(CLEAR);
    expect(wordErrorRate(CLEAR_SAID, text), text).toBeLessThanOrEqual(0.15);
  });

  it('of an old recording of a president has a word error rate of at most 0.35', async () => {
    const { text } = await heardOf(JFK);
    expect(wordErrorRate(JFK_SAID, text), text).toBeLessThanOrEqual(0.35);
  });

  it.runIf(isLong())("of this machine's unclear synthesiser is not empty", async () => {
    const wav = join(folder, 'espeak.wav');
    execFileSync(services().espeakPath, ['-v', 'en-us', '-s', '140', '-w', wav, CLEAR_SAID]);
    const { text } = await transcribe(order(made('espeak', '-i', wav)));
    expect(wordErrorRate(CLEAR_SAID, text), text).toBeLessThanOrEqual(0.85);
  });

  it.each(ENCODINGS.filter(({ name }) => isLong() || name === 'webm opus'))(
    'does not depend on the container: $name',
    async (encoding) => {
      const path = encode(encoding, { folder, seconds: 5 });
      const { demuxer, contentType } = FORMAT_READINGS[encoding.format];
      const { text } = await transcribe(order(path, { recording: { path, contentType, demuxer, seconds: 5 } }));
      expect(text).toMatch(/america/);
    },
  );

  it('of silence, of noise or of an empty recording is no error', async () => {
    const silence = made('silence', '-f', 'lavfi', '-t', '20', '-i', 'anullsrc=r=8000');
    expect(await transcribe(order(silence, { timestamps: true }))).toEqual({
      text: '',
      words: [],
      segments: [],
    });
    const noise = made('noise', '-f', 'lavfi', '-t', '3', '-i', 'anoisesrc=a=0.3:seed=1');
    expect(typeof (await transcribe(order(noise))).text).toBe('string');
    const click = made('click', '-f', 'lavfi', '-t', '0.01', '-i', 'sine');
    expect(await transcribe(order(click))).toEqual({ text: '' });
  });
});

describe('the timestamps', () => {
  it('match the words of the recording, in order and within its length', async () => {
    const { text, words = [], segments = [] } = await heardOf(JFK);
    expect(words.map(({ word }) => word).join(' ')).toBe(text);
    expect(segments.map((segment) => segment.text).join(' ')).toBe(text);
    expect(segments.length).toBeGreaterThan(2);
    let before = 0;
    for (const { start, end } of words) {
      expect(start).toBeGreaterThanOrEqual(before);
      expect(end).toBeGreaterThan(start);
      before = end;
    }
    expect(before).toBeLessThanOrEqual(11);
    // Checked by ear: the first "country" lasts from 5.9 s to 6.4 s.
    const country = words.find(({ word }) => word === 'country');
    expect(Math.abs((country?.start ?? 0) - 5.9)).toBeLessThan(0.2);
  });

  it('stay exact after a silence that is skipped', async () => {
    const said = await heardOf(CLEAR);
    const late = made('late', '-i', CLEAR, '-af', 'adelay=90000');
    const recording = { path: late, contentType: 'audio/flac', demuxer: 'flac', seconds: 103 };
    const after = await transcribe(order(late, { recording, timestamps: true }));
    expect(wordErrorRate(CLEAR_SAID, after.text), after.text).toBeLessThanOrEqual(0.2);
    const lastOf = ({ words = [] }: Transcript) => words.findLast(({ word }) => word === 'friday')?.start ?? 0;
    expect(Math.abs(lastOf(after) - lastOf(said) - 90)).toBeLessThan(0.15);
  });

  it('are left out unless requested', async () => {
    const recording = { ...order(CLEAR).recording, seconds: 1 };
    expect(Object.keys(await transcribe(order(CLEAR, { recording })))).toEqual(['text']);
  });
});

describe('validation before any charge', () => {
  const check = (asked: TranscriptionOrder) => () => localTranscriber(mediaTools()).checkTranscription?.(asked);

  it.each(['de', 'fr', 'zh', 'eng-lish', '', 'enm', '../en'])('refuses the language %j', (language) => {
    expect(check(order(JFK, { language }))).toThrow(FareboxError);
    expect(check(order(JFK, { language }))).toThrow('understands English only');
  });

  it.each(['en', 'EN', 'en-US', 'en_GB', 'English'])('accepts the language %j', (language) => {
    expect(check(order(JFK, { language }))).not.toThrow();
  });

  it('refuses a recording that would take too long and names the limit', () => {
    const recording = { ...order(JFK).recording, seconds: MAX_RECORDING_SECONDS + 0.5 };
    expect(check(order(JFK, { recording }))).toThrow('at most 20 minutes; the recording lasts 1201 seconds');
    const longest = { ...recording, seconds: MAX_RECORDING_SECONDS };
    expect(check(order(JFK, { recording: longest }))).not.toThrow();
  });
});

describe('the run', () => {
  it('ends its programs at once when it is aborted', async () => {
    const workFolder = freshFolder();
    const long = made('long', '-stream_loop', '20', '-i', CLEAR);
    const controller = new AbortController();
    const recording = { path: long, contentType: 'audio/flac', demuxer: 'flac', seconds: 260 };
    const running = transcribe(order(long, { recording }), { workFolder, signal: controller.signal });
    running.catch(() => undefined);
    await until('the recogniser runs', () => processesWith(`${workFolder}/pieces`) > 0);
    controller.abort(new Error('given up'));
    await expect(running).rejects.toThrow('given up');
    await until('nothing runs', () => processesWith(workFolder) === 0);
  });

  it('blames the source, not the machine, when a text is named as a recording', async () => {
    const path = join(folder, 'text.mp3');
    writeFileSync(path, 'no sound at all '.repeat(1_000));
    const recording = { path, contentType: 'audio/mpeg', demuxer: 'mp3', seconds: 5 };
    await expect(transcribe(order(path, { recording }))).rejects.toThrow(UpstreamFailure);
  });

  it('reports an operator error when no recogniser is configured', async () => {
    const { recogniser: _none, ...tools } = mediaTools();
    await expect(transcribe(order(CLEAR), { tools })).rejects.toMatchObject({ reason: 'credential' });
  });

  it("reports a machine failure when the recogniser's program is missing", async () => {
    const tools = { ...mediaTools(), recogniser: { path: '/no/such/pocketsphinx', model: '/no/model' } };
    await expect(transcribe(order(CLEAR), { tools })).rejects.toThrow('pocketsphinx could not be run');
  });
});

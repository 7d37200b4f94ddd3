/**
 * One run of the speech recogniser pocketsphinx under the limits of every media program. It knows English only, and only
 * what is said clearly: its model is of 2015 and small.
 */
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LimitedRun, type RunEnd, runLimited } from '../child/runLimited.ts';
import { cutAtPauses, FRAMES_PER_SECOND, type LevelMeter, levelMeter } from './speechPieces.ts';

/** Where the recogniser is. */
export interface Recogniser {
  /** `pocketsphinx_batch`. */
  path: string;
  /** Folder with `en-us/`, `en-us.lm.bin` and `cmudict-en-us.dict`. */
  model: string;
}

/** Samples a second that it hears: mono, 16 bits, little-endian. */
export const HEARD_RATE = 16_000;
/** Of the recording in the work folder. */
export const HEARD_FILE = 'heard.raw';

export interface Recognition extends Pick<LimitedRun, 'timeoutMs'> {
  recogniser: Recogniser;
  /** Private; holds `HEARD_FILE`, and gets some small files beside it. */
  workFolder: string;
}

/** In seconds from the start of the recording. */
export interface HeardWord {
  word: string;
  start: number;
  end: number;
}

export interface RecognitionResult {
  end: RunEnd;
  words: HeardWord[];
}

const PIECES_FILE = 'pieces';
const WORDS_FILE = 'words';
/** A word takes a line of some 40 bytes and is rarely shorter than a tenth of a second. */
const MAX_WORDS_FILE_BYTES = 16 * 1024 * 1024;

/** What every run is told of its model. Silence stays in: without it the times of the words would be too early. */
export function modelArguments(model: string): string[] {
  return [
    ...['-hmm', join(model, 'en-us'), '-lm', join(model, 'en-us.lm.bin')],
    ...['-dict', join(model, 'cmudict-en-us.dict'), '-remove_silence', 'no'],
    ...['-adcin', 'yes', '-logfn', '/dev/null'],
  ];
}

/** Throws when it could not be run at all. Of a recording without speech it hears no words. */
export async function runPocketsphinx(recognition: Recognition, signal?: AbortSignal): Promise<RecognitionResult> {
  const { recogniser, workFolder, timeoutMs } = recognition;
  const pieces = cutAtPauses(await levelsOf(join(workFolder, HEARD_FILE), signal));
  if (pieces.length === 0) return { end: 'finished', words: [] };
  const rows = pieces.map(({ from, to }, index) => `${HEARD_FILE} ${from} ${to} ${index}\n`);
  await writeFile(join(workFolder, PIECES_FILE), rows.join(''));
  const end = await runLimited({
    title: 'pocketsphinx',
    program: recogniser.path,
    arguments: [
      ...modelArguments(recogniser.model),
      // The names in the rows are whole: nothing is to be added to them.
      ...['-cepdir', workFolder, '-cepext', '', '-ctl', join(workFolder, PIECES_FILE)],
      ...['-ctm', join(workFolder, WORDS_FILE)],
    ],
    timeoutMs,
    maxFileBytes: MAX_WORDS_FILE_BYTES,
    signal,
  });
  if (end !== 'finished') return { end, words: [] };
  const lines = (await readFile(join(workFolder, WORDS_FILE), 'utf8')).split('\n');
  return { end, words: lines.flatMap((line) => heardWord(line, pieces)) };
}

async function levelsOf(path: string, signal: AbortSignal | undefined): Promise<Float32Array> {
  const meter: LevelMeter = levelMeter(HEARD_RATE / FRAMES_PER_SECOND);
  for await (const piece of createReadStream(path, { signal })) meter.take(piece as Buffer);
  return meter.levels();
}

/** `piece channel start duration word confidence`; several ways to say a word are told apart by a number: `read(2)`. */
const WORD_LINE = /^(\d+) \S+ ([\d.]+) ([\d.]+) (\S+)/;
/** Breath, noise, the ends of a sentence. */
const NO_WORD = /^(<.*>|\[.*\]|\+\+.*\+\+)$/;

function heardWord(line: string, pieces: readonly { from: number }[]): HeardWord[] {
  const [, piece = '', start = '', duration = '', said = ''] = WORD_LINE.exec(line) ?? [];
  const from = pieces[Number(piece)]?.from;
  const word = said.replace(/\(\d+\)$/, '');
  if (from === undefined || word === '' || NO_WORD.test(word)) return [];
  const begins = from / FRAMES_PER_SECOND + Number(start);
  return [{ word, start: rounded(begins), end: rounded(begins + Number(duration)) }];
}

function rounded(seconds: number): number {
  return Math.round(seconds * 100) / 100;
}

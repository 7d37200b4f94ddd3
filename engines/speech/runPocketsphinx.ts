/**
 * Runs the speech recogniser pocketsphinx within the limits of all media programs. It recognises only clear English,
 * because its model is small and from 2015.
 */
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type LimitedRun, type RunEnd, runLimited } from '../child/runLimited.ts';
import { cutAtPauses, FRAMES_PER_SECOND, type LevelMeter, levelMeter } from './speechPieces.ts';

/** Paths of the recogniser. */
export interface Recogniser {
  /** Program `pocketsphinx_batch`. */
  path: string;
  /** Folder with `en-us/`, `en-us.lm.bin` and `cmudict-en-us.dict`. */
  model: string;
}

/** Samples per second of its input: mono, 16 bits, little-endian. */
export const HEARD_RATE = 16_000;
/** Name of the recording in the work folder. */
export const HEARD_FILE = 'heard.raw';

export interface Recognition extends Pick<LimitedRun, 'timeoutMs'> {
  recogniser: Recogniser;
  /** Private folder with `HEARD_FILE`. Small files are added. */
  workFolder: string;
}

/** Times are in seconds from the start of the recording. */
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
/** A word is a line of about 40 bytes and rarely shorter than 0.1 s. */
const MAX_WORDS_FILE_BYTES = 16 * 1024 * 1024;

/** Options for the model. Silence is kept, because otherwise the times of words would be too early. */
export function modelArguments(model: string): string[] {
  return [
    ...['-hmm', join(model, 'en-us'), '-lm', join(model, 'en-us.lm.bin')],
    ...['-dict', join(model, 'cmudict-en-us.dict'), '-remove_silence', 'no'],
    ...['-adcin', 'yes', '-logfn', '/dev/null'],
  ];
}

/** Rejects when the program cannot run. Returns no words for a recording without speech. */
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
      // The rows contain complete file names.
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

/** `piece channel start duration word confidence`. A number distinguishes pronunciations: `read(2)`. */
const WORD_LINE = /^(\d+) \S+ ([\d.]+) ([\d.]+) (\S+)/;
/** Breath, noise, and sentence boundaries. */
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

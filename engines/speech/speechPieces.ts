/**
 * Cuts a recording of speech into pieces at pauses, for recognition piece by piece. Long silences are dropped, so that
 * hours without a word cost next to nothing.
 */

export const FRAMES_PER_SECOND = 100;

/** Positions in frames from the start of the recording. `to` is exclusive. */
export interface SpeechPiece {
  from: number;
  to: number;
}

export interface LevelMeter {
  take(piece: Buffer): void;
  /** Level of each whole frame in dB relative to full scale, at most 0. */
  levels(): Float32Array;
}

/** Level of complete silence. */
const MIN_DB = -100;
const FULL_SCALE = 32_768;

/** Takes 16-bit mono samples in pieces of any length. */
export function levelMeter(samplesPerFrame: number): LevelMeter {
  let rest: Buffer = Buffer.alloc(0);
  const done: Float32Array[] = [];
  const frameBytes = samplesPerFrame * 2;
  return {
    take(piece) {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      const count = Math.floor(bytes.length / frameBytes);
      const levels = new Float32Array(count);
      for (let frame = 0; frame < count; frame += 1) {
        levels[frame] = levelOf(bytes.subarray(frame * frameBytes, (frame + 1) * frameBytes));
      }
      done.push(levels);
      rest = Buffer.from(bytes.subarray(count * frameBytes));
    },
    levels() {
      const all = new Float32Array(done.reduce((sum, { length }) => sum + length, 0));
      let at = 0;
      for (const levels of done) {
        all.set(levels, at);
        at += levels.length;
      }
      return all;
    },
  };
}

function levelOf(samples: Buffer): number {
  let sum = 0;
  for (let at = 0; at + 2 <= samples.length; at += 2) {
    const value = samples.readInt16LE(at) / FULL_SCALE;
    sum += value * value;
  }
  return Math.max(MIN_DB, 10 * Math.log10(sum / (samples.length / 2)));
}

/** A recording below this level has no speech, whatever its loudest parts. */
const INAUDIBLE_DB = -65;
/** With hardly any noise, levels this far below the loudest parts count as silence. */
const SPEECH_RANGE_DB = 55;
/** Position of the threshold between noise and loudest parts. Low, because consonants are far quieter than vowels. */
const THRESHOLD = 0.25;
/** Minimum pause between sentences. Words contain shorter ones. */
const PAUSE = 0.3 * FRAMES_PER_SECOND;
const LONG_SILENCE = 2 * FRAMES_PER_SECOND;
/** Silence kept before and after speech. */
const MARGIN = 0.3 * FRAMES_PER_SECOND;
/** The recogniser adapts to a voice within a piece. Longer pieces are recognised better but need more memory. */
const MIN_PIECE_LENGTH = 15 * FRAMES_PER_SECOND;
const MAX_PIECE_LENGTH = 35 * FRAMES_PER_SECOND;
/** Shorter than any word. */
const MIN_SOUND = 0.05 * FRAMES_PER_SECOND;

/** Pieces in order, without overlaps. Empty when nothing is audible. */
export function cutAtPauses(levels: Float32Array): SpeechPiece[] {
  const threshold = thresholdOf(levels);
  if (threshold === undefined) return [];
  const silences = quietRuns(levels, threshold);
  const long = silences.filter(({ from, to }) => to - from >= LONG_SILENCE);
  const stretches = between(long, levels.length);
  return stretches.flatMap((stretch) => cutStretch(stretch, silences));
}

function thresholdOf(levels: Float32Array): number | undefined {
  const sorted = levels.slice().sort();
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? MIN_DB;
  // Also finds a few words in hours of silence.
  const loudest = Math.max(at(0.95), at(0.9999) - 20);
  if (loudest < INAUDIBLE_DB) return undefined;
  const quiet = Math.max(Math.min(at(0.1), loudest - 20), loudest - SPEECH_RANGE_DB);
  return quiet + (loudest - quiet) * THRESHOLD;
}

function quietRuns(levels: Float32Array, threshold: number): SpeechPiece[] {
  const runs: SpeechPiece[] = [];
  let from = 0;
  for (let frame = 0; frame <= levels.length; frame += 1) {
    const isQuiet = frame < levels.length && (levels[frame] ?? 0) < threshold;
    if (isQuiet) continue;
    if (frame - from >= PAUSE) runs.push({ from, to: frame });
    from = frame + 1;
  }
  return runs;
}

/** Stretches between long silences, with a margin. */
function between(silences: readonly SpeechPiece[], length: number): SpeechPiece[] {
  const bounds = [{ from: 0, to: 0 }, ...silences, { from: length, to: length }];
  return bounds.slice(1).flatMap((next, index) => {
    const before = bounds[index]?.to ?? 0;
    if (next.from - before < MIN_SOUND) return [];
    return [{ from: Math.max(0, before - MARGIN), to: Math.min(length, next.from + MARGIN) }];
  });
}

function cutStretch(stretch: SpeechPiece, pauses: readonly SpeechPiece[]): SpeechPiece[] {
  const pieces: SpeechPiece[] = [];
  let { from } = stretch;
  while (stretch.to - from > MAX_PIECE_LENGTH) {
    const to = bestCut(from, pauses);
    pieces.push({ from, to });
    from = to;
  }
  return [...pieces, { from, to: stretch.to }];
}

/** Middle of the longest pause in range. Without a pause, the end of the range. */
function bestCut(from: number, pauses: readonly SpeechPiece[]): number {
  const within = pauses
    .map((pause) => ({ middle: Math.floor((pause.from + pause.to) / 2), length: pause.to - pause.from }))
    .filter(({ middle }) => middle >= from + MIN_PIECE_LENGTH && middle <= from + MAX_PIECE_LENGTH);
  const longest = within.reduce((best, pause) => (pause.length > best.length ? pause : best), {
    middle: from + MAX_PIECE_LENGTH,
    length: 0,
  });
  return longest.middle;
}

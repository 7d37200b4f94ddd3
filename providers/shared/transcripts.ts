/** Reads transcripts of services: a text, and timed pieces in various forms. */
import { z } from 'zod';
import type { MultipartFile } from '../../infra/http/multipart.ts';
import type { RecordingFile, Span, Transcript, TranscriptionOrder } from './mediaProvider.ts';
import { garbageFailure, isFields } from './textFailures.ts';

/** More than anyone speaks in a day. */
const MAX_PIECES = 400_000;

const seconds = z.number().nonnegative();
/** Times: `timestamp` (the last end may be null), or `start` and `end`. Text: `text`, `word` or `punctuated_word`. */
const piece = z.object({
  text: z.string().optional(),
  word: z.string().optional(),
  timestamp: z.tuple([seconds.nullable(), seconds.nullable()]).optional(),
  start: seconds.nullish(),
  end: seconds.nullish(),
  /** "spacing" and "audio_event" are no words. */
  type: z.string().optional(),
  words: z.array(z.unknown()).max(MAX_PIECES).optional(),
});
const pieces = z.array(z.unknown()).max(MAX_PIECES);
const answer = z.object({
  text: z.string().optional(),
  transcription: z.string().optional(),
  output: z.string().optional(),
  chunks: pieces.nullish(),
  segments: pieces.nullish(),
  words: pieces.nullish(),
});

interface Piece extends Span {
  text: string;
}

/**
 * Throws UpstreamFailure `garbage` if there is no text. `chunks`: type of the pieces in the field `chunks`. Times are
 * limited to the recording; pieces without a time are dropped.
 */
export function readTranscript(
  found: unknown,
  chunks: 'words' | 'segments',
  { timestamps, recording }: Pick<TranscriptionOrder, 'timestamps' | 'recording'>,
): Transcript {
  const read = answer.safeParse(found).data;
  if (read === undefined) throw garbageFailure('the answer is no transcript');
  const longest = recording.seconds;
  const timed = (list: unknown[] | null | undefined) => toPieces(list ?? [], longest);
  const segments = timed(chunks === 'segments' ? (read.segments ?? read.chunks) : read.segments);
  const inside = (read.segments ?? []).flatMap((each) => piece.safeParse(each).data?.words ?? []);
  const words = timed(read.words ?? (chunks === 'words' ? read.chunks : inside));
  const text = read.text ?? read.transcription ?? read.output ?? textOf(read.segments ?? read.chunks);
  if (text === undefined) throw garbageFailure('the answer has no text');
  return {
    text: text.trim(),
    ...(timestamps && segments.length > 0 && { segments }),
    ...(timestamps && words.length > 0 && { words: words.map(({ text: word, start, end }) => ({ word, start, end })) }),
  };
}

function textOf(list: unknown[] | null | undefined): string | undefined {
  return list?.map((each) => (piece.safeParse(each).data?.text ?? '').trim()).join(' ');
}

function toPieces(list: readonly unknown[], longest: number): Piece[] {
  return list.flatMap((each) => {
    const found = piece.safeParse(each).data;
    const text = (found?.text ?? found?.word ?? '').trim();
    const start = found?.timestamp?.[0] ?? found?.start ?? undefined;
    if (found === undefined || text === '' || start === undefined) return [];
    if (found.type === 'spacing' || found.type === 'audio_event') return [];
    const begins = Math.min(start, longest);
    const end = found.timestamp?.[1] ?? found.end ?? longest;
    return [{ text, start: begins, end: Math.max(begins, Math.min(end, longest)) }];
  });
}

/** Seconds from the start; undefined if absent. Throws if they are no times. */
export function spanIn(entry: unknown): Span | undefined {
  if (!isFields(entry)) throw garbageFailure('a word of another shape');
  const { start, end } = entry;
  if (start === undefined || start === null || end === undefined || end === null) return undefined;
  if (!isTime(start) || !isTime(end)) throw garbageFailure('times that are none');
  // Some services end a word a little before its start.
  return { start, end: Math.max(start, end) };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

export function textIn(entry: unknown, field: 'text' | 'word'): string {
  const text = isFields(entry) ? entry[field] : undefined;
  if (typeof text !== 'string') throw garbageFailure('a word of another shape');
  return text;
}

/** File extension by demuxer, for services that rely on it. */
const ENDINGS: Readonly<Record<string, string>> = {
  mp3: 'mp3',
  wav: 'wav',
  ogg: 'ogg',
  flac: 'flac',
  mov: 'm4a',
  aac: 'aac',
  matroska: 'webm',
};

/** Form part of a recording; its name hides the client's file name. */
export function recordingPart(name: string, { path, contentType, demuxer }: RecordingFile): MultipartFile {
  const ending = Object.hasOwn(ENDINGS, demuxer) ? ENDINGS[demuxer] : 'audio';
  return { name, path, contentType, filename: `recording.${ending}` };
}

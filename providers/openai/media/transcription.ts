/** POST /audio/transcriptions. */
import type { ServicePost } from '../../../infra/http/serviceHttp.ts';
import type { Transcript, TranscriptionOrder } from '../../shared/mediaProvider.ts';
import { garbageFailure, isFields } from '../../shared/textFailures.ts';
import { recordingPart, spanIn, textIn } from '../../shared/transcripts.ts';
import { errorIn, failureOfError } from '../errorReply.ts';
import type { OpenAiDialect } from '../settings.ts';

/** Models that return times in the format `verbose_json`; the others support `json` only. */
const TELLS_TIMES: Record<OpenAiDialect, RegExp> = {
  // The other models are gpt-transcribe and gpt-4o-transcribe.
  openai: /^whisper/,
  // Whisper on vLLM, faster-whisper or whisper.cpp; Parakeet and similar models on their servers.
  compatible: /^(?!gpt-)/,
  ollama: /^$/,
};

export function transcriptionCall(
  order: TranscriptionOrder,
  dialect: OpenAiDialect,
): Pick<ServicePost, 'path' | 'multipart'> {
  const { upstreamModel, recording, language, timestamps } = order;
  const timed = timestamps && TELLS_TIMES[dialect].test(upstreamModel);
  const fields: Record<string, string | readonly string[]> = {
    model: upstreamModel,
    ...(language !== undefined && { language }),
    response_format: timed ? 'verbose_json' : 'json',
    ...(timed && { 'timestamp_granularities[]': ['word', 'segment'] }),
  };
  return { path: '/audio/transcriptions', multipart: { fields, files: [recordingPart('file', recording)] } };
}

export function readTranscript(json: unknown, { timestamps }: TranscriptionOrder): Transcript {
  const error = errorIn(json);
  if (error !== undefined) throw failureOfError(error);
  if (!isFields(json) || typeof json.text !== 'string') throw garbageFailure('no transcript');
  if (!timestamps) return { text: json.text };
  const words = timed(json.words, 'word', (word, span) => ({ word, ...span }));
  const segments = timed(json.segments, 'text', (text, span) => ({ text, ...span }));
  return { text: json.text, ...(words && { words }), ...(segments && { segments }) };
}

function timed<Entry>(
  entries: unknown,
  field: 'text' | 'word',
  make: (text: string, span: { start: number; end: number }) => Entry,
): Entry[] | undefined {
  if (entries === undefined || entries === null) return undefined;
  if (!Array.isArray(entries)) throw garbageFailure('times of another shape');
  return entries.flatMap((entry) => {
    const span = spanIn(entry);
    return span === undefined ? [] : [make(textIn(entry, field), span)];
  });
}

/** POST /v1/speech-to-text. */
import type { TextCall } from '../../../infra/http/textHttp.ts';
import type { Transcript, TranscriptionOrder } from '../../shared/mediaProvider.ts';
import { recordingPart } from '../../shared/recordingUpload.ts';
import { garbage, isFields } from '../../shared/textFailures.ts';
import { spanIn, textIn } from '../../shared/timedWords.ts';

export function transcriptionCall(order: TranscriptionOrder): Pick<TextCall, 'path' | 'multipart'> {
  const { upstreamModel, recording, language, timestamps } = order;
  const fields = {
    model_id: upstreamModel,
    ...(language !== undefined && { language_code: language }),
    timestamps_granularity: timestamps ? 'word' : 'none',
    // "(laughter)" is no word.
    tag_audio_events: 'false',
    diarize: 'false',
  };
  return { path: '/v1/speech-to-text', multipart: { fields, files: [recordingPart('file', recording)] } };
}

export function readTranscript(json: unknown, { timestamps }: TranscriptionOrder): Transcript {
  if (!isFields(json) || typeof json.text !== 'string') throw garbage('no transcript');
  if (!timestamps) return { text: json.text };
  if (!Array.isArray(json.words)) throw garbage('no times');
  const words = json.words.flatMap((entry: unknown) => {
    // Between two words there is one of the type "spacing".
    if (isFields(entry) && entry.type !== 'word') return [];
    const span = spanIn(entry);
    return span === undefined ? [] : [{ word: textIn(entry, 'text'), ...span }];
  });
  return { text: json.text, words };
}

/** Descriptions of the audio routes. */
import {
  answersWith,
  ORDER_HEADERS,
  orderCommands,
  RETRIEVE_HEADERS,
  type RouteDescription,
  UNTIL_STORED,
  WAITED_HEADERS,
} from '../http/describe.ts';
import { dryRunCost } from '../paid/dryRun.ts';
import { completeAnswer, failedAnswer, processingAnswer, suggestionAnswer } from '../queue/jobBodies.ts';
import { audioQuoteAnswer, queuedAudioAnswer } from './schema.ts';

const MODEL = 'local-speech';
const ORDER = { model: MODEL, prompt: 'The fare is paid, the doors are closing.' };
const FINISHED_JOB = [...orderCommands('/audio/queue', ORDER), UNTIL_STORED];

type AudioDescriptions = Record<'quote' | 'queue' | 'retrieve' | 'complete', RouteDescription>;

export const AUDIO_DESCRIPTIONS: AudioDescriptions = {
  quote: {
    group: 'Audio',
    operationId: 'quoteAudio',
    summary: 'What an order of this length costs',
    description:
      'By what the model is priced: `character_count` for speech, `duration_seconds` for music and sounds (the ' +
      "model's default where it is left out).",
    answers: answersWith(audioQuoteAnswer),
    errors: ['invalid_request'],
    example: { json: { model: MODEL, character_count: 40 } },
  },
  queue: {
    group: 'Audio',
    operationId: 'queueAudio',
    summary: 'Order music, sounds or speech',
    description:
      'Charged before the answer, and refunded when the job ends without an output. With an `Idempotency-Key` header (at ' +
      'most 255 characters, kept for 24 hours) a repeated request gets the first answer and is not charged again. With ' +
      'the header `x-service-dry-run: true` nothing is ordered: the answer is the price. `webhook_url` is told how it came ' +
      'out: see Webhooks.' +
      ORDER_HEADERS,
    answers: {
      200: {
        means: 'Charged and queued.',
        bodies: [{ schema: queuedAudioAnswer }, { schema: dryRunCost }],
        headers: {
          'Idempotent-Replayed': '`true` when this is the answer of an earlier request.',
          ...WAITED_HEADERS,
        },
      },
    },
    errors: ['insufficient_balance', 'key_limit_exceeded', 'idempotency_mismatch', 'unavailable'],
    example: { json: ORDER },
  },
  retrieve: {
    group: 'Audio',
    operationId: 'retrieveAudio',
    summary: 'Progress, the recording, or how the job ended',
    description:
      'JSON while the job runs, the bytes when it is done (with `Range`, `ETag` and 206), the same error each time when ' +
      'it failed, after the refund. `delete_media_on_completion` removes the media after its last byte.' +
      RETRIEVE_HEADERS,
    answers: {
      200: {
        means: 'Progress, or the recording.',
        bodies: [{ schema: processingAnswer }, { mediaType: 'audio/*' }],
        headers: {
          'x-service-audio-format': 'Of the recording: mp3, wav, flac.',
          'x-service-audio-duration': 'Seconds.',
          'x-service-inference-time': 'Seconds.',
          'x-service-model-id': 'The model.',
          'x-service-model-name': 'Its name.',
          'Preference-Applied': WAITED_HEADERS['Preference-Applied'],
        },
      },
      206: { means: 'The part that `Range` asked for.', bodies: [{ mediaType: 'audio/*' }] },
      416: { means: 'The media has no such part.', bodies: [] },
      422: {
        means: 'The provider refused the prompt; refunded.',
        bodies: [{ schema: suggestionAnswer }],
      },
      500: { means: 'The job failed and was refunded.', bodies: [{ schema: failedAnswer }] },
    },
    errors: ['media_not_found'],
    example: {
      before: FINISHED_JOB,
      json: { model: MODEL, queue_id: '$QUEUE_ID' },
      output: 'speech.mp3',
    },
  },
  complete: {
    group: 'Audio',
    operationId: 'completeAudio',
    summary: 'Have the recording removed',
    description: 'Safe to repeat. Of a job that still runs, the output is discarded when it comes.',
    answers: answersWith(completeAnswer),
    errors: ['media_not_found'],
    example: { before: FINISHED_JOB, json: { model: MODEL, queue_id: '$QUEUE_ID' } },
  },
};

/** Descriptions of the voice-changer routes. */
import {
  AN_ORDERED_JOB,
  answersWith,
  ORDER_HEADERS,
  RETRIEVE_HEADERS,
  type RouteDescription,
  UNTIL_STORED,
  WAITED_HEADERS,
} from '../http/describe.ts';
import { dryRunCost } from '../paid/dryRun.ts';
import { completeAnswer, failedAnswer, processingAnswer } from '../queue/jobBodies.ts';
import { queuedAnswer, quoteAnswer } from './schema.ts';

const MODEL = 'local-voice-changer';
const RECORDING = '@dev/stack/demo/recording.mp3;type=audio/mpeg';

const FINISHED_JOB = [...AN_ORDERED_JOB, UNTIL_STORED];

type VoiceChangerDescriptions = Record<'quote' | 'queue' | 'retrieve' | 'complete', RouteDescription>;

export const VOICE_CHANGER_DESCRIPTIONS: VoiceChangerDescriptions = {
  quote: {
    group: 'Voice changer',
    operationId: 'quoteVoiceChange',
    summary: 'What a recording of this length costs',
    answers: answersWith(quoteAnswer),
    example: { json: { model: MODEL, duration_seconds: 42.5 } },
  },
  queue: {
    group: 'Voice changer',
    operationId: 'queueVoiceChange',
    summary: 'Order a recording in another voice',
    description:
      'The source is a file part of at most 25 MB, or an `audio_url`; exactly one of them. It is measured, and the ' +
      'measured length is charged before the answer. With an `Idempotency-Key` header (at most 255 characters, kept for ' +
      '24 hours) a repeated request gets the first answer and is not charged again. `webhook_url` is told how it came out: ' +
      'see Webhooks; in a form `webhook_events` stand in one field, with commas between them.' +
      ORDER_HEADERS,
    answers: {
      200: {
        means: 'Measured, charged and queued.',
        bodies: [{ schema: queuedAnswer }, { schema: dryRunCost }],
        headers: {
          'Idempotent-Replayed': '`true` when this is the answer of an earlier request.',
          ...WAITED_HEADERS,
        },
      },
    },
    errors: [
      'invalid_source',
      'invalid_media',
      'media_too_long',
      'payload_too_large',
      'insufficient_balance',
      'key_limit_exceeded',
      'idempotency_mismatch',
      'unsupported_feature',
    ],
    example: { form: { model: MODEL, file: RECORDING } },
  },
  retrieve: {
    group: 'Voice changer',
    operationId: 'retrieveVoiceChange',
    summary: 'Progress, the recording, or how the job ended',
    description:
      'JSON while the job runs, the bytes when it is done (with `Range`, `ETag` and 206), the same error each time when it ' +
      'failed: `credits_refunded` is then true. `delete_media_on_completion` removes the media after its last byte.' +
      RETRIEVE_HEADERS,
    answers: {
      200: {
        means: 'Progress, or the recording.',
        bodies: [{ schema: processingAnswer }, { mediaType: 'audio/*' }],
        headers: {
          'x-service-audio-format': 'Of the recording: mp3, wav, …',
          'x-service-audio-duration': 'Seconds.',
          'x-service-inference-time': 'Seconds.',
          'x-service-model-id': 'The model.',
          'x-service-model-name': 'Its name.',
          'Preference-Applied': WAITED_HEADERS['Preference-Applied'],
        },
      },
      206: { means: 'The part that `Range` asked for.', bodies: [{ mediaType: 'audio/*' }] },
      416: { means: 'The media has no such part.', bodies: [] },
      500: { means: 'The job failed and was refunded.', bodies: [{ schema: failedAnswer }] },
    },
    errors: ['media_not_found', 'provider_refused'],
    example: {
      before: FINISHED_JOB,
      json: { model: MODEL, queue_id: '$QUEUE_ID' },
      output: 'changed.mp3',
    },
  },
  complete: {
    group: 'Voice changer',
    operationId: 'completeVoiceChange',
    summary: 'Have the media removed',
    description: 'Safe to repeat. Of a job that still runs, the output is discarded when it comes.',
    answers: answersWith(completeAnswer),
    errors: ['media_not_found'],
    example: { before: FINISHED_JOB, json: { model: MODEL, queue_id: '$QUEUE_ID' } },
  },
};

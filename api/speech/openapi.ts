/** Descriptions of the transcription and speech routes. */
import type { ErrorCode } from '../../domain/errors.ts';
import type { RouteDescription } from '../http/describe.ts';
import { dryRunCost } from '../paid/dryRun.ts';
import { READING_BUDGET } from '../paid/readings.ts';
import { transcriptionAnswer, voiceAnswer } from './schema.ts';

const RECORDING = '@dev/stack/demo/recording.mp3;type=audio/mpeg';

const DRY_RUN = ' With the header `x-service-dry-run: true` nothing is called or charged: the answer is the price.';

const REFUNDED =
  'charged when the answer begins, and not where the client has gone by then, within the refunds of the day ' +
  '(`limits.refundedPerDay`). ';

const HEADERS = {
  'x-service-model-id': 'The model.',
  'x-service-model-name': 'Its name.',
  'x-service-model-router': 'The provider entry that served it.',
};

const PAID: readonly ErrorCode[] = ['insufficient_balance', 'key_limit_exceeded'];
const UPSTREAM: readonly ErrorCode[] = ['provider_refused', 'upstream_failed', 'provider_busy'];
const SOUND: readonly ErrorCode[] = ['invalid_media', 'media_too_long', 'payload_too_large'];

type SpeechDescriptions = Record<'transcribe' | 'speak' | 'clone', RouteDescription>;

export const SPEECH_DESCRIPTIONS: SpeechDescriptions = {
  transcribe: {
    group: 'Speech',
    operationId: 'transcribe',
    summary: 'The words of a recording',
    description:
      'WAV, FLAC, M4A, AAC, MP4 (of a video: its sound), MP3, OGG and WEBM, told by their bytes, at most 25 MB and two ' +
      'hours. Priced by the second of the decoded recording, which is the `duration` of the answer; ' +
      REFUNDED +
      'Fields of the form that are not listed are passed over. ' +
      READING_BUDGET +
      DRY_RUN,
    stage: 'beta',
    answers: {
      200: {
        means: 'The transcript.',
        bodies: [{ schema: transcriptionAnswer }, { schema: dryRunCost }, { mediaType: 'text/plain' }],
        headers: HEADERS,
      },
    },
    errors: [...PAID, ...SOUND, ...UPSTREAM],
    example: { form: { file: RECORDING, model: 'local-transcribe', timestamps: 'true' } },
  },
  speak: {
    group: 'Speech',
    operationId: 'speak',
    summary: 'Words, spoken',
    description:
      'Raw audio, whole with its length or, with `streaming`, in chunks as it is spoken, or events with ' +
      '`stream_format: "sse"`. Priced by the character of ' +
      '`input` (Unicode code points); ' +
      REFUNDED +
      'A stream is charged at its end, or when the client leaves it, and not where it breaks off. `voice` ' +
      "is one of the model's, a handle of `POST /audio/voices`, or the provider's own id where the model takes those." +
      DRY_RUN,
    answers: {
      200: {
        means: 'The recording.',
        bodies: [{ schema: dryRunCost }, { mediaType: 'audio/*' }, { mediaType: 'text/event-stream' }],
        headers: HEADERS,
      },
    },
    errors: [...PAID, ...UPSTREAM],
    example: {
      json: { model: 'local-speech-sync', input: 'The fare is paid, the doors are closing.' },
      output: 'speech.mp3',
    },
  },
  clone: {
    group: 'Speech',
    operationId: 'cloneVoice',
    summary: 'A voice cloned from a sample',
    description:
      'The handle works as `voice` of `POST /audio/speech` for 7 days, for this account and this model. 0.05 USD unless the ' +
      'operator set another price (`prices.voiceCloning`), charged when the voice is there; the sample is not kept. An ' +
      'account has at most 1,000 of them, and at most 10 samples a UTC day are sent on.' +
      DRY_RUN,
    setting: '`FAL_KEY`',
    answers: {
      200: {
        means: 'The handle.',
        bodies: [{ schema: voiceAnswer }, { schema: dryRunCost }],
        headers: HEADERS,
      },
    },
    errors: [...PAID, ...SOUND, ...UPSTREAM, 'conflict', 'unsupported_feature'],
    example: { form: { file: RECORDING } },
  },
};

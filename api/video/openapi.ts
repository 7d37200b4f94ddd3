/** Descriptions of the video routes. */
import { z } from 'zod';
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
import { completeAnswer, contentPolicyAnswer, failedAnswer, linkedStatusAnswer } from '../queue/jobBodies.ts';
import { needsConsentAnswer, queuedVideoAnswer, videoQuoteAnswer } from './schema.ts';

const MODEL = 'local-video';
const ORDER = {
  model: MODEL,
  prompt: 'A tram at dawn. The doors close.',
  duration: '2s',
  resolution: '256p',
};
const FINISHED_JOB = [...orderCommands('/video/queue', ORDER), UNTIL_STORED];
const TOKEN = z.object({ token: z.string().meta({ description: 'As the queue answered it.' }) });
/** Valid form of an address without a video. */
const NO_TOKEN = { token: 'A'.repeat(54) };

type VideoRoute = 'quote' | 'queue' | 'retrieve' | 'complete' | 'download' | 'deleteDownload';

export const VIDEO_DESCRIPTIONS: Record<VideoRoute, RouteDescription> = {
  quote: {
    group: 'Video',
    operationId: 'quoteVideo',
    summary: 'What a video costs',
    description:
      'Fields that the model does not have are passed over. Where the source decides the price, `video_url` is fetched ' +
      'and measured, which needs an API key.',
    answers: answersWith(videoQuoteAnswer),
    errors: ['forbidden', 'model_offline', 'invalid_source', 'invalid_media', 'payload_too_large', 'unavailable'],
    example: { json: { model: MODEL, duration: '5s', resolution: '720p' } },
  },
  queue: {
    group: 'Video',
    operationId: 'queueVideo',
    summary: 'Order a video',
    description:
      'Which fields a model takes says its entry; any other is refused by name. Media are URLs or data URLs; each is ' +
      'fetched once, measured and stored, and a provider gets the bytes. Charged before the answer, and refunded when the ' +
      'job ends without an output. With an `Idempotency-Key` header (at most 255 characters, kept for 24 hours) a ' +
      'repeated request gets the first answer. With the header `x-service-dry-run: true` nothing is ordered: the answer ' +
      'is the price. `webhook_url` is told how it came out: see Webhooks.' +
      ORDER_HEADERS,
    answers: {
      200: {
        means: 'Measured, charged and queued.',
        bodies: [{ schema: queuedVideoAnswer }, { schema: dryRunCost }],
        headers: {
          'Idempotent-Replayed': '`true` when this is the answer of an earlier request.',
          ...WAITED_HEADERS,
        },
      },
      409: { means: 'A person must consent first.', bodies: [{ schema: needsConsentAnswer }] },
    },
    errors: [
      'invalid_source',
      'invalid_media',
      'media_too_long',
      'payload_too_large',
      'insufficient_balance',
      'key_limit_exceeded',
      'idempotency_mismatch',
      'unavailable',
    ],
    example: { json: ORDER },
  },
  retrieve: {
    group: 'Video',
    operationId: 'retrieveVideo',
    summary: 'Progress, the video, or how the job ended',
    description:
      'JSON while the job runs, the bytes when it is done (with `Range`, `ETag` and 206), the same error each time when ' +
      'it failed, after the refund. Of models whose videos are fetched by `download_url` only, the state alone. ' +
      '`delete_media_on_completion` ' +
      'removes the media after its last byte.' +
      RETRIEVE_HEADERS,
    answers: {
      200: {
        means: 'Progress, or the video.',
        bodies: [{ schema: linkedStatusAnswer }, { mediaType: 'video/*' }],
        headers: {
          'Preference-Applied': WAITED_HEADERS['Preference-Applied'],
          'x-service-inference-time': 'Seconds.',
          'x-service-model-id': 'The model.',
          'x-service-model-name': 'Its name.',
        },
      },
      206: { means: 'The part that `Range` asked for.', bodies: [{ mediaType: 'video/*' }] },
      416: { means: 'The media has no such part.', bodies: [] },
      422: {
        means: 'Refused under the content policy; refunded.',
        bodies: [{ schema: contentPolicyAnswer }],
      },
      500: { means: 'The job failed and was refunded.', bodies: [{ schema: failedAnswer }] },
    },
    errors: ['media_not_found'],
    example: { before: FINISHED_JOB, json: { model: MODEL, queue_id: '$QUEUE_ID' }, output: 'video.mp4' },
  },
  complete: {
    group: 'Video',
    operationId: 'completeVideo',
    summary: 'Have the video removed',
    description: 'Safe to repeat. Of a job that still runs, the output is discarded when it comes.',
    answers: answersWith(completeAnswer),
    errors: ['media_not_found'],
    example: { before: FINISHED_JOB, json: { model: MODEL, queue_id: '$QUEUE_ID' } },
  },
  download: {
    group: 'Video',
    operationId: 'downloadVideo',
    summary: 'Fetch a video by its link',
    description: 'No credential: whoever has the link may fetch, as often as needed and with `Range`.',
    params: TOKEN,
    answers: {
      200: { means: 'The video.', bodies: [{ mediaType: 'video/*' }] },
      206: { means: 'The part that `Range` asked for.', bodies: [{ mediaType: 'video/*' }] },
      416: { means: 'The media has no such part.', bodies: [] },
    },
    errors: ['media_not_found'],
    example: { params: NO_TOKEN, output: 'video.mp4' },
  },
  deleteDownload: {
    group: 'Video',
    operationId: 'deleteDownload',
    summary: 'Have the video behind a link removed',
    description: 'Afterwards the link leads nowhere.',
    params: TOKEN,
    answers: { 204: { means: 'The video is gone.', bodies: [] } },
    errors: ['media_not_found', 'unavailable'],
    example: { params: NO_TOKEN },
  },
};

/** Descriptions of the text routes. */
import type { RouteDescription } from '../http/describe.ts';
import { READING_BUDGET } from '../paid/readings.ts';
import { completionAnswer, dryRunAnswer, embeddingsAnswer } from './schema.ts';

export const DRY_RUN =
  'With the header `x-service-dry-run: true` nothing is called or charged: the answer is the most that the call can cost.';

const WEB =
  '`enable_web_search` (`on`, or `auto`: when the last message speaks of the present or asks to be looked up) searches for ' +
  'the last user message; `enable_web_scraping` reads up to five addresses that stand in it, in place of a search. The ' +
  'model gets what was found, and so does the client as `web_search_citations`, in a stream at its beginning with ' +
  '`include_search_results_in_stream`; with `enable_web_citations` the text has marks such as `^1^`. A search is 0.01 USD, ' +
  'and so are a page and a search on X (`enable_x_search`); one that failed is not charged, and results that the client ' +
  'was shown are, whatever the model said after them. ' +
  'Pages are read for 60 requests a minute.';

const MEDIA =
  'The media of a request are 25 MB each at most and 100 MB in all, each counted as often as it is shown, with the texts of ' +
  'its documents; those that are fetched have at most 40 different addresses. A request takes 100 recordings, 3 videos and ' +
  '40 files. Recordings and videos are at most three hours long; their length is measured, and a video is MP4, MOV or WebM. ' +
  `While documents, recordings and videos are read, 0.01 USD is held, and then what the call can cost. ${READING_BUDGET}`;

const SEALED =
  'To a model with `supportsE2EE` a conversation can be sent encrypted, with the headers `x-service-tee-client-pub-key`, ' +
  '`x-service-tee-model-pub-key` and `x-service-tee-signing-algo: ecdsa`; it is passed on as it is.';

export const ANSWER_HEADERS = {
  'x-service-model-id': 'The model that answered.',
  'x-service-model-name': 'Its name.',
  'x-service-model-router': 'The provider entry that served it.',
  'x-service-overhead-ms': 'What this service itself added to the time of the answer.',
};

export const CHAT_DESCRIPTION: RouteDescription = {
  group: 'Text',
  operationId: 'createChatCompletion',
  summary: 'Answer a conversation',
  description:
    'The request follows the common chat-completion convention; `service_parameters` adds what is this service’s own. With ' +
    '`stream: true` the answer comes as server-sent events, and the last one before `[DONE]` has `usage`, `cost` and ' +
    `\`balance\`. A stream whose client leaves is billed for what was made: \`model_spec.onDisconnect\` says how. ` +
    'Fields of OpenAI’s clients that change no answer are accepted and named in `x-service-ignored`. ' +
    `\`fallbacks\` are asked in their order when a model does not answer. ${MEDIA} ${WEB} ${SEALED} ${DRY_RUN}`,
  answers: {
    200: {
      means: 'The answer, its usage and its cost.',
      bodies: [{ schema: completionAnswer }, { mediaType: 'text/event-stream' }, { schema: dryRunAnswer }],
      headers: { ...ANSWER_HEADERS, 'x-service-ignored': 'Fields of the request without an effect; missing if none.' },
    },
  },
  errors: [
    'insufficient_balance',
    'key_limit_exceeded',
    'forbidden',
    'model_not_found',
    'model_offline',
    'character_not_found',
    'unsupported_feature',
    'context_length_exceeded',
    'invalid_source',
    'invalid_media',
    'invalid_document',
    'payload_too_large',
    'malformed_encryption',
    'provider_refused',
    'provider_failed',
    'provider_busy',
    'timed_out',
  ],
  example: {
    json: { model: 'simulator-text', messages: [{ role: 'user', content: 'Say hello.' }] },
  },
};

export const EMBEDDINGS_DESCRIPTION: RouteDescription = {
  group: 'Text',
  operationId: 'createEmbeddings',
  summary: 'Turn texts into vectors',
  description: `One text or up to 2,048 of them. \`local-lexical-embedding\` has at most 2,048 dimensions, and at most 1,048,576 numbers (texts × dimensions) in one answer; other models what their service takes. ${DRY_RUN}`,
  answers: {
    200: {
      means: 'A vector per text.',
      bodies: [{ schema: embeddingsAnswer }, { schema: dryRunAnswer }],
      headers: ANSWER_HEADERS,
    },
  },
  errors: [
    'insufficient_balance',
    'key_limit_exceeded',
    'forbidden',
    'model_not_found',
    'model_offline',
    'provider_failed',
    'provider_busy',
    'timed_out',
  ],
  example: { json: { model: 'local-lexical-embedding', input: 'The quick brown fox.' } },
};

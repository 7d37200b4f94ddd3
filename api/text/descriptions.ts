/** How the text routes describe themselves. */
import type { RouteDescription } from '../describe.ts';
import { completionAnswer, dryRunAnswer, embeddingsAnswer } from './answers.ts';

export const DRY_RUN =
  'With the header `x-service-dry-run: true` nothing is called or charged: the answer is the most that the call can cost.';

export const HEADERS = {
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
    `\`balance\`. \`fallbacks\` are asked in their order when a model does not answer. ${DRY_RUN}`,
  answers: {
    200: {
      means: 'The answer, its usage and its cost.',
      bodies: [{ schema: completionAnswer }, { mediaType: 'text/event-stream' }, { schema: dryRunAnswer }],
      headers: HEADERS,
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
  description: `One text or up to 2,048 of them. ${DRY_RUN}`,
  answers: {
    200: {
      means: 'A vector per text.',
      bodies: [{ schema: embeddingsAnswer }, { schema: dryRunAnswer }],
      headers: HEADERS,
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

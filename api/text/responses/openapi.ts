/** Description and answers of POST /responses (TEXT-24, TEXT-25). */
import { z } from 'zod';
import type { RouteDescription } from '../../http/describe.ts';
import { ANSWER_HEADERS, CHAT_DESCRIPTION, DRY_RUN } from '../openapi.ts';
import { dryRunAnswer } from '../schema.ts';

const count = z.int().min(0);
const status = z.enum(['completed', 'in_progress']);

const annotation = z.strictObject({
  type: z.literal('url_citation'),
  url: z.string(),
  title: z.string().optional(),
  start_index: count,
  end_index: count,
});

const item = z.union([
  z.strictObject({
    type: z.literal('reasoning'),
    id: z.string(),
    summary: z.array(z.string()),
    encrypted_content: z.string().optional(),
  }),
  z.strictObject({ type: z.literal('web_search_call'), id: z.string(), status: z.literal('completed') }),
  z.strictObject({
    type: z.literal('function_call'),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status,
  }),
  z.strictObject({
    type: z.literal('message'),
    id: z.string(),
    status,
    role: z.literal('assistant'),
    content: z.array(
      z.strictObject({
        type: z.literal('output_text'),
        text: z.string(),
        annotations: z.array(annotation),
      }),
    ),
  }),
]);

const responseAnswer = z.strictObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int(),
  model: z.string(),
  status: z.enum(['completed', 'incomplete']),
  incomplete_details: z.strictObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).optional(),
  output: z.array(item),
  usage: z.strictObject({
    input_tokens: count,
    input_tokens_details: z.strictObject({ cached_tokens: count }),
    output_tokens: count,
    output_tokens_details: z.strictObject({ reasoning_tokens: count }),
    total_tokens: count,
  }),
});

export const RESPONSES_DESCRIPTION: RouteDescription = {
  group: 'Text',
  operationId: 'createResponse',
  summary: 'Answer a conversation, as items',
  stage: 'alpha',
  description:
    'The same as `/chat/completions`, for clients of the Responses API, and billed the same. Nothing is stored: send the ' +
    'whole conversation in `input`, with the items of earlier answers. With `stream: true` the answer comes as ' +
    `server-sent events, the last of which before \`[DONE]\` has the whole response with its \`usage\`. ${DRY_RUN}`,
  answers: {
    200: {
      means: 'The items of the answer, and its usage.',
      bodies: [{ schema: responseAnswer }, { mediaType: 'text/event-stream' }, { schema: dryRunAnswer }],
      headers: ANSWER_HEADERS,
    },
  },
  ...(CHAT_DESCRIPTION.errors && { errors: CHAT_DESCRIPTION.errors }),
  example: { json: { model: 'simulator-text', input: 'Say hello.' } },
};

/** Body of POST /chat/completions (TEXT-1). Unknown fields are refused at the top only. */
import { z } from 'zod';
import { IMAGE_DETAILS } from '../../domain/text/chat.ts';
import { RETENTION_TEXT } from '../../domain/text/promptCache.ts';
import { anonUserId } from '../http/endUser.ts';

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const VERBOSITIES = ['low', 'medium', 'high', 'auto'] as const;
const AUDIO_FORMATS = ['wav', 'mp3', 'aiff', 'aac', 'ogg', 'flac', 'm4a', 'pcm16', 'pcm24'] as const;

const cacheControl = z.object({ type: z.literal('ephemeral'), ttl: z.string().max(16).exactOptional() });
const text = z.string().min(1);
const textPart = z.object({
  type: z.literal('text'),
  text,
  cache_control: cacheControl.exactOptional(),
});
/** OpenAI and compatible servers get it; other services have no such setting (TEXT-34). */
export const imageDetail = z.enum(IMAGE_DETAILS).nullable().optional();
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string().min(1), detail: imageDetail }),
  cache_control: cacheControl.exactOptional(),
});
const audioPart = z.object({
  type: z.literal('input_audio'),
  input_audio: z.object({ data: z.string().min(1), format: z.enum(AUDIO_FORMATS).default('wav') }),
  cache_control: cacheControl.exactOptional(),
});
const videoPart = z.object({
  type: z.literal('video_url'),
  video_url: z.object({ url: z.string().min(1) }),
  cache_control: cacheControl.exactOptional(),
});
const filePart = z.object({
  type: z.literal('file'),
  file: z.object({ file_data: z.string().min(1), filename: z.string().max(255).exactOptional() }),
  cache_control: cacheControl.exactOptional(),
});

const userPart = z.discriminatedUnion('type', [textPart, imagePart, audioPart, videoPart, filePart]);
export type SentPart = z.output<typeof userPart>;

const texts = z.array(textPart);
const nullish = <T extends z.ZodType>(schema: T) => schema.nullable().optional();

/** Untyped in the published description; all clients send this shape. */
const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal('function').default('function'),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});
const reasoningDetail = z.object({
  type: z.string(),
  id: nullish(z.string()),
  index: nullish(z.number()),
  format: nullish(z.string()),
  text: nullish(z.string()),
  data: nullish(z.string()),
});

const message = z.discriminatedUnion('role', [
  z.object({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(userPart)]),
    name: nullish(z.string()),
  }),
  z.object({
    role: z.literal('assistant'),
    content: nullish(z.union([z.string(), texts])),
    name: nullish(z.string()),
    reasoning_content: nullish(z.string()),
    reasoning_details: nullish(z.array(reasoningDetail)),
    thought_signature: nullish(z.string()),
    tool_calls: nullish(z.array(toolCall)),
  }),
  z.object({
    role: z.literal('tool'),
    content: z.union([z.string(), texts]),
    tool_call_id: z.string().min(1),
    name: nullish(z.string()),
    reasoning_content: nullish(z.string()),
    tool_calls: nullish(z.array(z.unknown())),
  }),
  z.object({ role: z.literal('system'), content: z.union([z.string(), texts]), name: nullish(z.string()) }),
  z.object({
    role: z.literal('developer'),
    content: z.union([z.string(), texts]),
    name: nullish(z.string()),
  }),
]);
export type SentMessage = z.output<typeof message>;

/** Unknown members are dropped, as the published API does. */
export const serviceParameters = z.object({
  character_slug: z.string().min(1).max(200).exactOptional(),
  strip_thinking_response: z.boolean().default(false),
  disable_thinking: z.boolean().default(false),
  enable_e2ee: z.boolean().exactOptional(),
  enable_web_search: z.enum(['auto', 'off', 'on']).default('off'),
  enable_web_scraping: z.boolean().default(false),
  enable_web_citations: z.boolean().default(false),
  include_search_results_in_stream: z.boolean().default(false),
  return_search_results_as_documents: z.boolean().exactOptional(),
  include_service_system_prompt: z.boolean().default(true),
  enable_x_search: z.boolean().default(false),
});
export type ServiceParameters = z.output<typeof serviceParameters>;

const functionTool = z.object({
  id: z.string().exactOptional(),
  type: z.literal('function').default('function'),
  function: z.object({
    name: z.string().min(1).max(128),
    description: z.string().exactOptional(),
    parameters: z.record(z.string(), z.unknown()).exactOptional(),
    strict: nullish(z.boolean()),
  }),
});
/** Accepted without effect: `service_parameters` control the search. */
const hostedTool = z.object({ type: z.enum(['web_search', 'x_search']) });

const responseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('json_schema'), json_schema: z.record(z.string(), z.unknown()) }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({ type: z.literal('text') }),
]);

/** Fields of OpenAI's clients that change no answer here. Those of a request are named in `x-service-ignored`. */
const ignoredFields = {
  audio: nullish(z.looseObject({})),
  include: nullish(z.array(z.string()).max(100)),
  metadata: nullish(z.record(z.string(), z.string())),
  moderation: nullish(z.looseObject({})),
  prediction: nullish(z.looseObject({})),
  prompt_cache_options: nullish(z.looseObject({})),
  safety_identifier: nullish(z.string().max(128)),
  service_tier: nullish(z.string().max(32)),
  store: nullish(z.boolean()),
};

const cacheRetention = z
  .string()
  .regex(RETENTION_TEXT, 'Expected `default`, `extended`, `in_memory` or a duration such as `30m` or `24h`')
  .meta({
    description:
      '`default`, `extended` (24 hours), `in_memory` (5 minutes), or a duration in s, m, h or d. The provider gets the ' +
      'nearest length that it offers: `5m` or `1h` at Anthropic, `in_memory` or `24h` at OpenAI.',
  });

const MAX_CHOICES = 128;
const fraction = z.number().min(0).max(1);
const temperature = z.number().min(0).max(2);
const penalty = z.number().min(-2).max(2);

export const chatBody = z.strictObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  frequency_penalty: nullish(penalty),
  presence_penalty: nullish(penalty),
  repetition_penalty: nullish(z.number().min(0)),
  logprobs: nullish(z.boolean()),
  top_logprobs: nullish(z.int().min(0).max(20)),
  max_completion_tokens: nullish(z.int()),
  max_tokens: nullish(z.int()),
  temperature: nullish(temperature),
  min_temp: nullish(temperature),
  max_temp: nullish(temperature),
  top_p: nullish(fraction),
  min_p: nullish(fraction),
  top_k: nullish(z.int().min(0)),
  n: nullish(z.int().min(1).max(MAX_CHOICES)),
  seed: nullish(z.int().min(1)),
  stop: nullish(z.union([z.string(), z.array(z.string()).min(1).max(4)])),
  stop_token_ids: nullish(z.array(z.int()).max(128)),
  stream: nullish(z.boolean()),
  /** Clients send further members, which are ignored. */
  stream_options: nullish(z.object({ include_usage: z.boolean().exactOptional() })),
  prompt_cache_key: nullish(z.string().max(512)),
  prompt_cache_retention: nullish(cacheRetention),
  reasoning: nullish(
    z.object({
      effort: nullish(z.enum(EFFORTS)),
      enabled: nullish(z.boolean()),
      summary: nullish(z.enum(['auto', 'concise', 'detailed'])),
    }),
  ),
  reasoning_effort: nullish(z.enum(EFFORTS)),
  verbosity: nullish(z.enum(VERBOSITIES)),
  text: nullish(z.object({ verbosity: nullish(z.enum(VERBOSITIES)) })),
  user: nullish(z.string()),
  logit_bias: nullish(z.record(z.string().regex(/^\d{1,7}$/), z.number().min(-100).max(100))),
  modalities: nullish(z.array(z.literal('text', 'Only text is supported'))),
  functions: z.null({ error: 'Use tools' }).optional(),
  function_call: z.null({ error: 'Use tool_choice' }).optional(),
  ...ignoredFields,
  anon_user_id: anonUserId,
  fallbacks: nullish(z.array(z.object({ model: z.string().min(1) })).max(10)),
  parallel_tool_calls: nullish(z.boolean()),
  response_format: nullish(responseFormat),
  tool_choice: nullish(
    z.union([
      z.enum(['auto', 'none', 'required']),
      z.object({ type: z.string(), function: z.object({ name: z.string().min(1) }) }),
    ]),
  ),
  tools: nullish(z.array(z.union([functionTool, hostedTool])).max(1_024)),
  service_parameters: serviceParameters.prefault({}),
});
export type ChatBody = z.output<typeof chatBody>;

/** Names of the fields of a request that have no effect. */
export function ignoredFieldsOf(body: ChatBody): string[] {
  const names = Object.keys(ignoredFields) as (keyof typeof ignoredFields)[];
  return names.filter((name) => body[name] != null && body[name] !== false);
}

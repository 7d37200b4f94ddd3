/** Answers of the text routes, for the description of the API (TEXT-16). */
import { z } from 'zod';

const count = z.int().min(0);
const cost = z.strictObject({ usd: z.number().min(0), diem: z.number().min(0) });

const usageAnswer = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.strictObject({ cached_tokens: count, cache_creation_input_tokens: count }),
  completion_tokens_details: z.strictObject({ reasoning_tokens: count }),
});

const tokenLogprob = z.strictObject({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int()).nullable(),
});
const logprob = tokenLogprob.extend({ top_logprobs: z.array(tokenLogprob) });

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
});

const reasoningDetail = z.strictObject({
  type: z.string(),
  id: z.string().optional(),
  index: z.number().optional(),
  format: z.string().optional(),
  text: z.string().optional(),
  data: z.string().optional(),
});

const choice = z.strictObject({
  index: count,
  finish_reason: z.enum(['stop', 'length', 'tool_calls', 'content_filter']),
  stop_reason: z.enum(['stop', 'length']).nullable(),
  logprobs: logprob
    .partial()
    .extend({ content: z.array(logprob), refusal: z.null() })
    .nullable(),
  message: z.strictObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    name: z.string().nullable().meta({ description: 'As the provider gave it.' }),
    reasoning_content: z.string().nullable(),
    reasoning_details: z.array(reasoningDetail).optional(),
    thought_signature: z.string().optional(),
    tool_calls: z.array(toolCall).optional(),
  }),
});

const citation = z.strictObject({
  title: z.string(),
  url: z.string(),
  content: z.string().optional(),
  date: z.string().optional(),
});

const parameters = z.strictObject({
  character_slug: z.string().optional(),
  strip_thinking_response: z.boolean(),
  disable_thinking: z.boolean(),
  enable_e2ee: z.boolean(),
  enable_web_search: z.enum(['auto', 'off', 'on']),
  enable_web_scraping: z.boolean(),
  enable_web_citations: z.boolean(),
  include_search_results_in_stream: z.boolean(),
  return_search_results_as_documents: z.boolean().optional(),
  include_service_system_prompt: z.boolean(),
  enable_x_search: z.boolean(),
  web_search_citations: z.array(citation),
});

export const completionAnswer = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(choice),
  usage: usageAnswer,
  cost,
  prompt_logprobs: z.null(),
  service_parameters: parameters,
});

export const dryRunAnswer = z.strictObject({
  object: z.literal('dry_run'),
  bounds: z.array(z.strictObject({ model: z.string(), cost, prompt_tokens: count, completion_tokens: count })),
});

export const embeddingsAnswer = z.strictObject({
  object: z.literal('list'),
  model: z.string(),
  data: z.array(
    z.strictObject({
      object: z.literal('embedding'),
      index: count,
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  usage: z.strictObject({ prompt_tokens: count, total_tokens: count }),
});

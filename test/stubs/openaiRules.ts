/** Rules of the published request schema that the adapter can break. */

export interface ChatBody {
  model?: string;
  messages?: { role: string; content: unknown; tool_calls?: unknown }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  max_tokens?: number;
  max_completion_tokens?: number;
  n?: number;
  tools?: { type: string; function: { name: string } }[];
  tool_choice?: unknown;
  logprobs?: boolean;
  top_logprobs?: number;
  input?: string | string[];
  dimensions?: number;
  encoding_format?: string;
  [field: string]: unknown;
}

export interface Invalid {
  status: number;
  type: string;
  code: string | null;
  message: string;
  param?: string | null;
}

/** Fields of `CreateChatCompletionRequest`. Others are refused, as OpenAI does. */
const FIELDS = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n', 'tools'],
  ...['tool_choice', 'logprobs', 'top_logprobs', 'temperature', 'top_p', 'frequency_penalty', 'presence_penalty'],
  ...['seed', 'stop', 'parallel_tool_calls', 'response_format', 'reasoning_effort', 'verbosity', 'store', 'user'],
  ...['safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'metadata', 'modalities', 'logit_bias'],
]);
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'];
const PARTS = ['text', 'image_url', 'input_audio', 'file', 'refusal', 'video_url'];

/** Fields of vLLM, llama.cpp and Ollama, which OpenAI's models refuse. */
const EXTENDED = new Set([
  ...['top_k', 'min_p', 'repetition_penalty', 'stop_token_ids', 'chat_template_kwargs'],
  ...['dynatemp_range', 'search_parameters'],
]);

export function checkChat(body: ChatBody): Invalid | undefined {
  const own = body.model?.startsWith('gpt-') ?? true;
  const unknown = Object.keys(body).find((field) => !FIELDS.has(field) && (own || !EXTENDED.has(field)));
  if (unknown !== undefined) return invalid(unknown, `Unrecognized request argument supplied: ${unknown}`);
  if (typeof body.model !== 'string') return invalid('model', 'you must provide a model parameter');
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    return invalid('messages', "Invalid 'messages': empty array.");
  }
  for (const [at, { role, content }] of body.messages.entries()) {
    if (!ROLES.includes(role)) return invalid(`messages[${at}].role`, `Invalid value: '${role}'.`);
    const parts = Array.isArray(content) ? (content as { type: string }[]) : [];
    const wrong = parts.find(({ type }) => !PARTS.includes(type));
    if (wrong !== undefined) return invalid(`messages[${at}].content`, `Invalid value: '${wrong.type}'.`);
  }
  if (body.top_logprobs !== undefined && (body.logprobs !== true || body.top_logprobs > 20)) {
    return invalid('top_logprobs', "Invalid 'top_logprobs'.");
  }
  if (body.stream_options !== undefined && body.stream !== true) {
    return invalid('stream_options', "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
  }
  if (body.tool_choice !== undefined && body.tools === undefined) {
    return invalid('tool_choice', "'tool_choice' is only allowed when 'tools' are specified.");
  }
  return undefined;
}

function invalid(param: string, message: string): Invalid {
  return { status: 400, type: 'invalid_request_error', code: null, param, message };
}

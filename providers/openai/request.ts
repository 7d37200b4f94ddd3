/** Converts a chat request to a chat completions body. */
import type { ChatRequest, FunctionTool, Sampling, ToolChoice } from '../../domain/text/chat.ts';
import { isReasoningOff } from '../../domain/text/leftStream.ts';
import { nearestRetention } from '../../domain/text/promptCache.ts';
import { temperatureWithin } from '../shared/temperature.ts';
import type { Fields } from '../shared/textFailures.ts';
import type { Dialect } from './dialects.ts';
import { toMessages } from './messages.ts';

export function toChatBody(request: ChatRequest, dialect: Dialect, stream: boolean): Fields {
  const body: Fields = {
    model: request.upstreamModel,
    messages: toMessages(request.messages, dialect),
    [dialect.maxTokens]: request.maxTokens,
    [dialect.userField]: request.endUser,
    ...toSampling(request.sampling, dialect),
    ...toToolFields(request, dialect),
    ...toReasoning(request, dialect),
    ...(dialect.openAiFields ? openAiFields(request) : {}),
  };
  if (request.xSearch === true && dialect.xSearch === 'search_parameters') {
    body.search_parameters = { mode: 'on', sources: [{ type: 'x' }] };
  }
  if (request.n !== 1) body.n = request.n;
  if (request.responseFormat !== undefined) body.response_format = request.responseFormat;
  if (request.logprobs !== undefined) {
    body.logprobs = true;
    if (request.logprobs.top > 0) body.top_logprobs = request.logprobs.top;
  }
  if (stream) {
    body.stream = true;
    body.stream_options = { include_usage: true };
  }
  return body;
}

const COMMON = ['temperature', 'top_p', 'frequency_penalty', 'presence_penalty', 'seed', 'stop', 'logit_bias'] as const;
const ALL = [...COMMON, 'top_k', 'min_p', 'repetition_penalty', 'stop_token_ids'] as const;

function toSampling(sampling: Sampling, dialect: Dialect): Fields {
  const known = dialect.extendedSampling ? ALL : COMMON;
  const fields: Fields = {};
  for (const field of known) if (sampling[field] !== undefined) fields[field] = sampling[field];
  return Object.assign(fields, toTemperature(sampling, dialect));
}

/**
 * llama.cpp varies the temperature by `dynatemp_range` to both sides of `temperature`. Similar servers ignore the field
 * and use the middle. Other services get one temperature within the bounds.
 */
function toTemperature(sampling: Sampling, dialect: Dialect): Fields {
  const { min_temp: least, max_temp: most } = sampling;
  if (dialect.extendedSampling && least !== undefined && most !== undefined && least < most) {
    return { temperature: (least + most) / 2, dynatemp_range: (most - least) / 2 };
  }
  const temperature = temperatureWithin(sampling);
  return temperature === undefined ? {} : { temperature };
}

function toToolFields(request: ChatRequest, dialect: Dialect): Fields {
  const searching = request.xSearch === true && dialect.xSearch === 'tool' ? [{ type: 'x_search' }] : [];
  if (request.tools === undefined || request.tools.length === 0) {
    return searching.length > 0 ? { tools: searching } : {};
  }
  const fields: Fields = { tools: [...request.tools.map(toTool), ...searching] };
  if (request.toolChoice !== undefined) fields.tool_choice = toChoice(request.toolChoice);
  if (request.parallelToolCalls !== undefined) fields.parallel_tool_calls = request.parallelToolCalls;
  return fields;
}

function toTool(tool: FunctionTool): Fields {
  return { type: 'function', function: tool };
}

function toChoice(choice: ToolChoice): string | Fields {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}

/** Services refuse an effort that the model lacks, so `none` is reliable. Templates ignore unknown arguments. */
export function mayReason(request: ChatRequest, dialect: Dialect): boolean {
  return !(isReasoningOff(request) && dialect.reasoningOff === 'effort');
}

function toReasoning(request: ChatRequest, dialect: Dialect): Fields {
  const { reasoning } = request;
  if (reasoning === undefined) return {};
  const { effort } = reasoning;
  if (isReasoningOff(request)) {
    return dialect.reasoningOff === 'effort'
      ? { reasoning_effort: 'none' }
      : { chat_template_kwargs: { enable_thinking: false } };
  }
  const on = dialect.reasoningOff === 'template' && reasoning.enabled === true;
  return {
    ...(effort === undefined || effort === 'none' ? {} : { reasoning_effort: dialect.efforts[effort] }),
    ...(on ? { chat_template_kwargs: { enable_thinking: true } } : {}),
  };
}

/** OpenAI keeps a prompt in memory for at most an hour. */
const RETENTIONS = { in_memory: 3_600, '24h': 86_400 };

function openAiFields({ verbosity, promptCache }: ChatRequest): Fields {
  const fields: Fields = { store: false };
  if (verbosity !== undefined && verbosity !== 'auto') fields.verbosity = verbosity;
  if (promptCache?.key !== undefined) fields.prompt_cache_key = promptCache.key;
  const { retentionSeconds } = promptCache ?? {};
  if (retentionSeconds !== undefined) {
    fields.prompt_cache_retention = nearestRetention(retentionSeconds, RETENTIONS);
  }
  return fields;
}

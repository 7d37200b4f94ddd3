/** Converts a chat request to a Messages API body. */
import type { ReasoningEffort } from '../../domain/catalogue/specs.ts';
import type { ChatRequest, FunctionTool } from '../../domain/text/chat.ts';
import { isReasoningOff } from '../../domain/text/leftStream.ts';
import { CACHE_WRITE_SECONDS, nearestRetention } from '../../domain/text/promptCache.ts';
import { temperatureWithin } from '../shared/temperature.ts';
import type { Fields } from '../shared/textFailures.ts';
import { refusedFailure, toSystem, toTurns } from './messages.ts';

export function toMessagesBody(request: ChatRequest, stream: boolean): Fields {
  if (request.n !== 1) throw refusedFailure('The model makes one choice per request: n must be 1.');
  if (request.sampling.logit_bias) throw refusedFailure('The model takes no logit_bias.');
  const forms = formsOf(request.upstreamModel);
  const thinking = toThinking(request, forms);
  const body: Fields = {
    model: request.upstreamModel,
    max_tokens: request.maxTokens,
    messages: toTurns(request.messages),
    metadata: { user_id: request.endUser },
    ...toSampling(request, forms.sampling && thinking?.type !== 'enabled' && thinking?.type !== 'adaptive'),
    ...toToolFields(request),
    ...toCache(request),
  };
  const system = [...toSystem(request.messages), ...jsonWish(request)];
  if (system.length > 0) body.system = system;
  if (thinking !== undefined) body.thinking = thinking;
  const output = { ...toEffort(request, forms), ...toFormat(request) };
  if (Object.keys(output).length > 0) body.output_config = output;
  if (stream) body.stream = true;
  return body;
}

/** Caps the temperature at 1 instead of 2. The service refuses `temperature` and `top_p` together. */
function toSampling({ sampling }: ChatRequest, taken: boolean): Fields {
  const fields: Fields = {};
  // The service refuses stop sequences of white space only.
  const stop = sampling.stop?.filter((sequence) => sequence.trim() !== '') ?? [];
  if (stop.length > 0) fields.stop_sequences = stop;
  if (!taken) return fields;
  const temperature = temperatureWithin(sampling);
  if (temperature !== undefined) fields.temperature = Math.min(1, temperature);
  else if (sampling.top_p !== undefined) fields.top_p = sampling.top_p;
  if (sampling.top_k !== undefined && sampling.top_k > 0) fields.top_k = sampling.top_k;
  return fields;
}

function toToolFields({ tools, toolChoice, parallelToolCalls }: ChatRequest): Fields {
  if (tools === undefined || tools.length === 0) return {};
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  const fields: Fields = { tools: tools.map(toTool) };
  if (toolChoice === 'none') fields.tool_choice = { type: 'none' };
  else if (toolChoice === 'required') fields.tool_choice = { type: 'any', ...single };
  else if (typeof toolChoice === 'object') {
    fields.tool_choice = { type: 'tool', name: toolChoice.name, ...single };
  } else if (toolChoice === 'auto' || parallelToolCalls === false) {
    fields.tool_choice = { type: 'auto', ...single };
  }
  return fields;
}

function toTool({ name, description, parameters, strict }: FunctionTool): Fields {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: { type: 'object', ...parameters },
    ...(strict === true ? { strict } : {}),
  };
}

/** Thinking budget as a share of `maxTokens`. The service requires at least 1,024 tokens. */
const SHARES: Record<Exclude<ReasoningEffort, 'none'>, number> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
};
const MIN_BUDGET = 1_024;

function toThinking(request: ChatRequest, forms: ClaudeForms): Fields | undefined {
  const { reasoning } = request;
  if (reasoning === undefined) return undefined;
  if (isReasoningOff(request)) return forms.off === 'effort' ? undefined : { type: forms.off };
  if (reasoning.enabled === undefined && reasoning.effort === undefined) return undefined;
  // The service refuses thinking together with a forced tool call.
  const forced = request.toolChoice === 'required' || typeof request.toolChoice === 'object';
  if (forced) return undefined;
  if (forms.thinking === 'adaptive') return { type: 'adaptive', display: 'summarized' };
  const effort = reasoning.effort ?? 'medium';
  const share = effort === 'none' ? 0 : SHARES[effort];
  const budget = Math.max(MIN_BUDGET, Math.floor(request.maxTokens * share));
  return budget < request.maxTokens ? { type: 'enabled', budget_tokens: budget } : undefined;
}

/** `between_tools` counts as off: it only leaves short notes in turns after tools. */
export function mayReason(request: ChatRequest): boolean {
  const forms = formsOf(request.upstreamModel);
  const thinking = toThinking(request, forms);
  if (thinking === undefined) return forms.thinksUnasked;
  return thinking.type === 'enabled' || thinking.type === 'adaptive';
}

const EFFORTS: Record<Exclude<ReasoningEffort, 'none'>, string> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

function toEffort(request: ChatRequest, forms: ClaudeForms): Fields {
  if (forms.thinking === 'budget') return {};
  if (isReasoningOff(request)) return forms.off === 'effort' ? { effort: 'low' } : {};
  const effort = request.reasoning?.effort;
  if (effort === undefined || effort === 'none') return {};
  return { effort: effort === 'xhigh' && !forms.xhigh ? 'high' : EFFORTS[effort] };
}

function toFormat({ responseFormat }: ChatRequest): Fields {
  if (responseFormat?.type !== 'json_schema') return {};
  return { format: { type: 'json_schema', schema: responseFormat.json_schema.schema } };
}

/** The service has no format for any JSON object. */
function jsonWish({ responseFormat }: ChatRequest): Fields[] {
  if (responseFormat?.type !== 'json_object') return [];
  return [{ type: 'text', text: 'Answer with one JSON object and nothing else.' }];
}

/**
 * Writes a cache, which costs money, only if the request asks for retention. The client's own marks take precedence.
 */
function toCache({ promptCache, messages }: ChatRequest): Fields {
  const { retentionSeconds } = promptCache ?? {};
  if (retentionSeconds === undefined) return {};
  const marked = messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.cache_control !== undefined),
  );
  if (marked) return {};
  return { cache_control: { type: 'ephemeral', ttl: nearestRetention(retentionSeconds, CACHE_WRITE_SECONDS) } };
}

/** Thinking and sampling options of a Claude generation. Each refuses those of the others with a 400. */
interface ClaudeForms {
  /** `budget`: a number of tokens; `adaptive`: an effort. */
  thinking: 'budget' | 'adaptive';
  /** How thinking is turned off. `effort`: it cannot be, and the lowest effort comes nearest. */
  off: 'disabled' | 'between_tools' | 'effort';
  /** Whether it thinks by default. */
  thinksUnasked: boolean;
  sampling: boolean;
  xhigh: boolean;
}

function formsOf(model: string): ClaudeForms {
  const version = versionOf(model);
  const older = { off: 'disabled', thinksUnasked: false, sampling: true, xhigh: false } as const;
  if (version < 4.6) return { thinking: 'budget', ...older };
  if (version < 4.7) return { thinking: 'adaptive', ...older };
  const newest = version >= 5.5 || /fable|mythos/.test(model);
  const off = newest ? (model.includes('sonnet') ? 'between_tools' : 'effort') : 'disabled';
  return { thinking: 'adaptive', off, thinksUnasked: version >= 5, sampling: false, xhigh: true };
}

/** First two numbers of `claude-opus-4-7` or `claude-3-7-sonnet-20250219`, without dates. No numbers: the newest. */
function versionOf(model: string): number {
  const numbers = model.split(/[^0-9]+/).filter((part) => part !== '' && part.length < 3);
  const [major, minor = '0'] = numbers;
  return major === undefined ? 5 : Number(`${major}.${minor}`);
}

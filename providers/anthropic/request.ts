/** Our request in the words of the Messages API. */
import type { ReasoningEffort } from '../../domain/catalogue/specs.ts';
import type { ChatRequest, FunctionTool } from '../../domain/text/chat.ts';
import { isReasoningOff } from '../../domain/text/leftStream.ts';
import { temperatureWithin } from '../shared/temperature.ts';
import { type Fields, isFields } from '../shared/textFailures.ts';
import { refusedFailure, toSystem, toTurns } from './messages.ts';

export function toMessagesBody(request: ChatRequest, stream: boolean): Fields {
  if (request.n !== 1) throw refusedFailure('The model makes one choice per request: n must be 1.');
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

/** Ours goes to 2, theirs to 1; and a temperature and a `top_p` together are refused. */
function toSampling({ sampling }: ChatRequest, taken: boolean): Fields {
  const fields: Fields = {};
  // A sequence of nothing but white space is refused.
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

/** Shares of the whole, of which a budget is a part; the service's least is 1,024 tokens. */
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
  // A call that must be made is not thought about: the service refuses both together.
  const forced = request.toolChoice === 'required' || typeof request.toolChoice === 'object';
  if (forced) return undefined;
  if (forms.thinking === 'adaptive') return { type: 'adaptive', display: 'summarized' };
  const effort = reasoning.effort ?? 'medium';
  const share = effort === 'none' ? 0 : SHARES[effort];
  const budget = Math.max(MIN_BUDGET, Math.floor(request.maxTokens * share));
  return budget < request.maxTokens ? { type: 'enabled', budget_tokens: budget } : undefined;
}

/** `between_tools` leaves short notes only, in the turns after tools. */
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
  // As OpenAI has it, a schema with a name around it; a bare one is a schema too.
  const { schema = responseFormat.json_schema } = responseFormat.json_schema;
  if (!isFields(schema)) throw refusedFailure('The JSON schema of the response format is no object.');
  return { format: { type: 'json_schema', schema } };
}

/** The service has no format for "some JSON". */
function jsonWish({ responseFormat }: ChatRequest): Fields[] {
  if (responseFormat?.type !== 'json_object') return [];
  return [{ type: 'text', text: 'Answer with one JSON object and nothing else.' }];
}

/** A cache is written, and paid for, only where it was asked to be kept; marks of the client's own go first. */
function toCache({ promptCache, messages }: ChatRequest): Fields {
  const { retention = 'default' } = promptCache ?? {};
  if (retention === 'default') return {};
  const marked = messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.cache_control !== undefined),
  );
  return marked ? {} : { cache_control: { type: 'ephemeral', ttl: '1h' } };
}

/** Forms in which a generation of Claude takes thinking and sampling; each refuses those of the others with a 400. */
interface ClaudeForms {
  /** `budget`: so many tokens; `adaptive`: by an effort. */
  thinking: 'budget' | 'adaptive';
  /** How it is told not to think; `effort`: it cannot, and the lowest effort is the nearest. */
  off: 'disabled' | 'between_tools' | 'effort';
  /** Whether it thinks where the request says nothing of it. */
  thinksUnasked: boolean;
  /** Whether `temperature`, `top_p` and `top_k` are taken. */
  sampling: boolean;
  /** Whether the effort `xhigh` is known. */
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

/** `claude-opus-4-7`, `claude-3-7-sonnet-20250219`: the first two numbers; a date is none. Without numbers: the newest. */
function versionOf(model: string): number {
  const numbers = model.split(/[^0-9]+/).filter((part) => part !== '' && part.length < 3);
  const [major, minor = '0'] = numbers;
  return major === undefined ? 5 : Number(`${major}.${minor}`);
}

/** Answers of the stub, whole and in frames, in the shapes of the published description. */
import type { ChatBody } from './openaiRules.ts';
import { type ChatScript, type Frame, toTokens } from './openaiScript.ts';

export interface Answer {
  text: readonly string[];
  /** Most probable first. */
  alternatives: readonly (readonly [token: string, probability: number])[];
  reasoning: readonly string[];
  /** Tokens of all choices, as reported in the usage. */
  tokens: number;
  cut: boolean;
}

const DEFAULT_TEXT = 'Hello from the stub, in a few words.';

export function planAnswer(body: ChatBody, script: ChatScript): Answer {
  const limit = body.max_completion_tokens ?? body.max_tokens ?? Number.POSITIVE_INFINITY;
  const alternatives = alternativesOf(body, script);
  const likeliest = alternatives.slice(0, 1).map(([token]) => token);
  const told = script.tokens ?? (likeliest.length > 0 ? likeliest : undefined);
  const wanted = told ?? (script.toolCalls === undefined ? toTokens(DEFAULT_TEXT) : []);
  const reasoning = (script.reasoning ?? []).slice(0, limit);
  const text = wanted.slice(0, Math.max(0, limit - reasoning.length));
  const each = text.length + reasoning.length + callTokens(script);
  return { text, alternatives, reasoning, tokens: each * (body.n ?? 1), cut: text.length < wanted.length };
}

function alternativesOf({ messages = [] }: ChatBody, { alternatives = {} }: ChatScript) {
  const prompt = messages.map(({ content }) => String(content)).join('\n');
  const told = typeof alternatives === 'function' ? alternatives(prompt) : alternatives;
  return Object.entries(told).sort(([, one], [, other]) => other - one);
}

function callTokens({ toolCalls = [] }: ChatScript): number {
  return toolCalls.reduce((sum, call) => sum + piecesOf(call.arguments).length + 1, 0);
}

function finishOf({ finishReason, toolCalls }: ChatScript, { cut }: Answer): string | null {
  if (finishReason !== undefined) return finishReason;
  if (cut) return 'length';
  return toolCalls === undefined ? 'stop' : 'tool_calls';
}

function usageOf(body: ChatBody, answer: Answer, { usage }: ChatScript) {
  if (usage !== undefined) return usage;
  const prompt_tokens = toTokens(JSON.stringify(body.messages ?? [])).length;
  return {
    prompt_tokens,
    completion_tokens: answer.tokens,
    total_tokens: prompt_tokens + answer.tokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: answer.reasoning.length * (body.n ?? 1), audio_tokens: 0 },
  };
}

const HEAD = { id: 'chatcmpl-stub', created: 1_760_000_000, system_fingerprint: 'fp_stub' };

export function completionOf(body: ChatBody, answer: Answer, script: ChatScript) {
  const { reasoningField = 'reasoning_content' } = script;
  const calls = script.toolCalls?.map((call, at) => ({
    id: call.id ?? `call_${at}`,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  const message = {
    role: 'assistant',
    content: answer.text.length === 0 && calls ? null : answer.text.join(''),
    refusal: null,
    ...(answer.reasoning.length > 0 ? { [reasoningField]: answer.reasoning.join('') } : {}),
    ...(calls ? { tool_calls: calls } : {}),
  };
  const choices = Array.from({ length: body.n ?? 1 }, (_, index) => ({
    index,
    message,
    logprobs: body.logprobs ? logprobsOf(answer, body.top_logprobs) : null,
    finish_reason: finishOf(script, answer),
  }));
  const usage = usageOf(body, answer, script);
  return {
    ...HEAD,
    object: 'chat.completion',
    model: body.model,
    choices,
    ...(usage === null ? {} : { usage }),
  };
}

function logprobsOf({ text, alternatives }: Pick<Answer, 'text' | 'alternatives'>, top = 0) {
  const listed = alternatives.map(([token, probability]) => ({
    token,
    logprob: Math.log(probability),
    bytes: null,
  }));
  const content = text.map((token) => ({
    token,
    logprob: listed[0]?.logprob ?? -0.5,
    bytes: [...Buffer.from(token)],
    top_logprobs: listed.length > 0 ? listed.slice(0, top) : [{ token, logprob: -0.5, bytes: null }],
  }));
  return { content, refusal: null };
}

interface Counted {
  frame: Frame;
  tokens: number;
}

export function* chunkFrames(body: ChatBody, answer: Answer, script: ChatScript): Generator<Counted> {
  if (script.frames !== undefined) {
    for (const frame of script.frames) yield { frame, tokens: 0 };
    return;
  }
  const head = { ...HEAD, object: 'chat.completion.chunk', model: body.model };
  const withUsage = body.stream_options?.include_usage === true;
  const extra = withUsage ? { usage: null } : {};
  const chunk = (index: number, delta: object, rest: object = {}) => ({
    ...head,
    choices: [{ index, delta, logprobs: null, finish_reason: null, ...rest }],
    ...extra,
  });
  for (let index = 0; index < (body.n ?? 1); index += 1) {
    yield { frame: chunk(index, { role: 'assistant', content: '', refusal: null }), tokens: 0 };
    for (const token of answer.reasoning) {
      yield { frame: chunk(index, { [script.reasoningField ?? 'reasoning_content']: token }), tokens: 1 };
    }
    for (const token of answer.text) {
      const rest = body.logprobs ? { logprobs: logprobsOf({ ...answer, text: [token] }, body.top_logprobs) } : {};
      yield { frame: chunk(index, { content: token }, rest), tokens: 1 };
    }
    for (const delta of callDeltas(script)) yield { frame: chunk(index, delta), tokens: 1 };
    const reason = finishOf(script, answer);
    if (reason !== null) yield { frame: chunk(index, {}, { finish_reason: reason }), tokens: 0 };
  }
  const usage = usageOf(body, answer, script);
  if (withUsage && usage !== null) yield { frame: { ...head, choices: [], usage }, tokens: 0 };
}

function* callDeltas({ toolCalls = [], withoutCallIndex }: ChatScript): Generator<object> {
  for (const [at, call] of toolCalls.entries()) {
    const place = withoutCallIndex ? {} : { index: at };
    const named = {
      id: call.id ?? `call_${at}`,
      type: 'function',
      function: { name: call.name, arguments: '' },
    };
    yield { tool_calls: [{ ...place, ...named }] };
    for (const piece of piecesOf(call.arguments)) {
      yield { tool_calls: [{ ...place, function: { arguments: piece } }] };
    }
  }
}

function piecesOf(text: string): string[] {
  return text.match(/.{1,6}/gs) ?? [];
}

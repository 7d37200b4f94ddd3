/** Rules of the published request schema that the adapter can break. */

export interface MessagesBody {
  model: string;
  max_tokens: number;
  messages: { role: string; content: string | { type: string; text?: string }[] }[];
  system?: unknown;
  stream?: boolean;
  thinking?: { type: string; budget_tokens?: number };
  tools?: unknown[];
  tool_choice?: { type: string };
  [field: string]: unknown;
}

const FIELDS = [
  ...['model', 'max_tokens', 'messages', 'system', 'stream', 'thinking', 'tools', 'tool_choice', 'metadata'],
  ...['stop_sequences', 'temperature', 'top_p', 'top_k', 'output_config', 'cache_control', 'service_tier'],
];
/** Models with a thinking budget and sampling parameters. Newer models accept neither. */
const OLDER = ['claude-haiku-4-5', 'claude-3-7-sonnet-20250219'];

export type ApiVersion = '2023-06-01' | '2026-10-21';

export function checkMessages(body: MessagesBody, version: ApiVersion): { type: string; message: string } | undefined {
  const message = wrong(body, version);
  if (message !== undefined) return { type: 'invalid_request_error', message };
  return body.model.startsWith('claude-') ? undefined : { type: 'not_found_error', message: `model: ${body.model}` };
}

function wrong(body: MessagesBody, version: ApiVersion): string | undefined {
  const unknown = Object.keys(body).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`;
  if (!(body.max_tokens >= 1)) return 'max_tokens: Field required';
  if (body.messages.length === 0) return 'messages: at least one message is required';
  if (body.tool_choice !== undefined && body.tools === undefined) return 'tool_choice may only be specified with tools';
  return wrongMessage(body) ?? wrongForModel(body, version);
}

function wrongMessage({ messages }: MessagesBody): string | undefined {
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== 'user' && role !== 'assistant') return `messages.${at}.role: Input should be 'user' or 'assistant'`;
    if (content.length === 0) return `messages.${at}: all messages must have non-empty content`;
    const blocks = typeof content === 'string' ? [] : content;
    if (blocks.some((block) => block.type === 'text' && block.text === '')) {
      return `messages.${at}: text content blocks must be non-empty`;
    }
    const results = blocks.findLastIndex(({ type }) => type === 'tool_result');
    if (blocks.slice(0, Math.max(0, results)).some(({ type }) => type !== 'tool_result')) {
      return `messages.${at}: tool_result blocks must come first`;
    }
  }
  return undefined;
}

function wrongForModel(body: MessagesBody, version: ApiVersion): string | undefined {
  const older = OLDER.includes(body.model);
  const sampled = body.temperature !== undefined || body.top_p !== undefined || body.top_k !== undefined;
  if (sampled && (!older || version === '2026-10-21')) return 'temperature is not supported for this model';
  if (Number(body.temperature) > 1) return 'temperature: range: 0..1';
  if (body.temperature !== undefined && body.top_p !== undefined) {
    return 'temperature and top_p cannot both be specified';
  }
  return wrongThinking(body, { older, sampled });
}

function wrongThinking(body: MessagesBody, { older, sampled }: { older: boolean; sampled: boolean }) {
  const { type, budget_tokens: budget = 0 } = body.thinking ?? {};
  if (type === 'adaptive' && older) return 'adaptive thinking is not supported on this model';
  if (type !== 'enabled') return undefined;
  if (!older) return '"thinking.type.enabled" is not supported for this model.';
  if (budget < 1_024) return 'thinking.enabled.budget_tokens: at least 1024';
  if (budget >= body.max_tokens) return 'max_tokens must be greater than budget_tokens';
  if (sampled) return 'temperature may only be set to 1 when thinking is enabled';
  const forced = body.tool_choice?.type === 'any' || body.tool_choice?.type === 'tool';
  return forced ? 'Thinking may not be enabled when tool_choice forces tool use.' : undefined;
}

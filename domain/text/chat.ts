/**
 * Chat completion in types of our own, between the routes and the providers (TEXT-16, TEXT-20). A name of the published
 * API has its published meaning. Media are bytes, never the URL of a user (FETCH-7).
 */
import type { MediaTokenRates, ReasoningEffort } from '../catalogue/specs.ts';

export interface CacheControl {
  type: 'ephemeral';
  ttl?: string;
}

export interface TextPart {
  type: 'text';
  text: string;
  cache_control?: CacheControl;
}

interface Medium {
  bytes: Buffer;
  /** Type detected from the bytes: `image/png`, `audio/wav`, `video/mp4`. */
  mediaType: string;
  cache_control?: CacheControl;
}

export interface ImagePart extends Medium {
  type: 'image';
  pixels: number;
  /** Resolution that the model is to see. Default: the service's own. */
  detail?: ImageDetail;
}

export const IMAGE_DETAILS = ['auto', 'low', 'high'] as const;
type ImageDetail = (typeof IMAGE_DETAILS)[number];

export interface AudioPart extends Medium {
  type: 'audio';
  /** Measured by decoding. */
  seconds: number;
}

export interface VideoPart extends Medium {
  type: 'video';
  /** Measured by decoding. */
  seconds: number;
  /** 0 without a sound track. */
  audioSeconds: number;
}

/** Image, recording or video as bytes. */
export type MediaPart = ImagePart | AudioPart | VideoPart;

export type UserPart = TextPart | MediaPart;

export interface ToolCall {
  id: string;
  type: 'function';
  function: {
    name: string;
    /** JSON as the model wrote it: not always valid. */
    arguments: string;
  };
}

export interface ReasoningDetail {
  type: string;
  id?: string;
  index?: number;
  format?: string;
  text?: string;
  data?: string;
}

export type ChatMessage =
  | { role: 'system' | 'developer'; content: string | TextPart[]; name?: string }
  | { role: 'user'; content: string | UserPart[]; name?: string }
  | {
      role: 'assistant';
      content: string | TextPart[] | null;
      name?: string;
      reasoning_content?: string;
      reasoning_details?: ReasoningDetail[];
      /** Returned to the service that made it. */
      thought_signature?: string;
      tool_calls?: ToolCall[];
    }
  | { role: 'tool'; content: string; tool_call_id: string; name?: string };

export interface FunctionTool {
  name: string;
  description?: string;
  /** A JSON schema. */
  parameters?: Record<string, unknown>;
  strict?: boolean;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

type ResponseFormat = { type: 'text' } | { type: 'json_object' } | { type: 'json_schema'; json_schema: NamedSchema };

/** A schema in OpenAI's wrapper, which may have further members (`description`, `strict`). */
interface NamedSchema {
  name: string;
  schema: Record<string, unknown>;
  [member: string]: unknown;
}

type ReasoningSummary = 'auto' | 'concise' | 'detailed';
type Verbosity = 'low' | 'medium' | 'high' | 'auto';

/** Default: the service's own. All bounds were checked. */
export interface Sampling {
  temperature?: number;
  min_temp?: number;
  max_temp?: number;
  top_p?: number;
  min_p?: number;
  top_k?: number;
  frequency_penalty?: number;
  presence_penalty?: number;
  repetition_penalty?: number;
  seed?: number;
  stop?: string[];
  stop_token_ids?: number[];
  /** Addends from -100 to 100 by token number. */
  logit_bias?: Record<string, number>;
}

export interface ChatRequest {
  upstreamModel: string;
  messages: ChatMessage[];
  /** Media token rates of the service; a missing rate has its default. */
  mediaTokens?: Partial<MediaTokenRates>;
  sampling: Sampling;
  /** Number of choices, each billed. */
  n: number;
  /** Limit per choice, including reasoning: the hold covers no more. */
  maxTokens: number;
  logprobs?: { top: number };
  tools?: FunctionTool[];
  toolChoice?: ToolChoice;
  parallelToolCalls?: boolean;
  responseFormat?: ResponseFormat;
  /** `enabled: false` turns reasoning off where the model can. */
  reasoning?: { enabled?: boolean; effort?: ReasoningEffort; summary?: ReasoningSummary };
  verbosity?: Verbosity;
  /** Without a retention the service's default applies. */
  promptCache?: { key?: string; retentionSeconds?: number };
  /** Search on X, for models that support it. */
  xSearch?: boolean;
  /** Opaque; constant per end user of an account. */
  endUser: string;
  /** Headers of an end-to-end encrypted request, passed on as they are. */
  e2eeHeaders?: Record<string, string>;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: number[] | null;
  top_logprobs: { token: string; logprob: number; bytes: number[] | null }[];
}

/** Usage as the service counted it. */
export interface TokenUsage {
  /** Whole prompt, including its cached part. */
  promptTokens: number;
  /** Part of the prompt that was read from a cache, billed at its own rate. */
  cachedTokens: number;
  /** Part of the prompt that was written to a cache, billed at its own rate. */
  cacheWriteTokens: number;
  /** Part of the cache writes that is kept for an hour, at its own rate. Default: none. */
  hourCacheWriteTokens?: number;
  /** Output of all choices, including reasoning. */
  completionTokens: number;
  reasoningTokens: number;
}

export interface AssistantMessage {
  content: string | null;
  name?: string;
  reasoning_content?: string;
  reasoning_details?: ReasoningDetail[];
  thought_signature?: string;
  tool_calls?: ToolCall[];
}

export interface ChatChoice {
  index: number;
  message: AssistantMessage;
  finishReason: FinishReason;
  logprobs?: TokenLogprob[];
}

export interface Completion {
  choices: ChatChoice[];
  /** Undefined: the service reported none, and we count. */
  usage: TokenUsage | undefined;
  /** The service's own id of the reply, for traces. */
  upstreamId?: string;
  /** Model that answered, as the service names it. */
  upstreamModel?: string;
}

/** Piece of a tool call: the first of an `index` has `id` and `name`, later ones only further `arguments`. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  name?: string;
  arguments?: string;
}

/** Addition to a choice. */
export interface ChatDelta {
  content?: string;
  reasoning_content?: string;
  reasoning_details?: ReasoningDetail[];
  thought_signature?: string;
  tool_calls?: ToolCallDelta[];
}

export type ChatEvent =
  | { type: 'delta'; index: number; delta: ChatDelta; logprobs?: TokenLogprob[] }
  | { type: 'finish'; index: number; reason: FinishReason }
  /** Running totals, if the service sends them early; the last event counts. */
  | { type: 'usage'; usage: TokenUsage };

/** Rules for a stream whose client has left before its end: what becomes of the upstream call, and what is billed. */
import type { TextModel } from '../catalogue/model.ts';
import type { OnDisconnect, ProviderSettings } from '../providerSettings.ts';
import type { ChatRequest, TokenUsage } from './chat.ts';

/** Rate of a model whose entry has none, until its answers were measured. Common services write 40 to 150 tokens a second. */
export const DEFAULT_TOKENS_PER_SECOND = 80;

/** The model's own word, else that of its provider entry, else `abort`. */
export function onDisconnectOf(
  { spec, provider }: Pick<TextModel, 'spec' | 'provider'>,
  providers: Readonly<Record<string, ProviderSettings>>,
): OnDisconnect {
  const settings = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return spec.onDisconnect ?? settings?.onDisconnect ?? 'abort';
}

/** 0: the model does not reason. */
function tokensPerSecondOf({ spec }: Pick<TextModel, 'spec'>, measured: number | undefined): number {
  if (spec.capabilities?.supportsReasoning !== true) return 0;
  return spec.tokensPerSecond ?? measured ?? DEFAULT_TOKENS_PER_SECOND;
}

/** `enabled` counts only without an effort. */
export function isReasoningOff({ reasoning }: Pick<ChatRequest, 'reasoning'>): boolean {
  const { effort, enabled } = reasoning ?? {};
  return effort === 'none' || (effort === undefined && enabled === false);
}

export interface ReasoningSigns {
  request: Pick<ChatRequest, 'reasoning'>;
  /** The service sends all reasoning in a field of its own. */
  showsReasoning: boolean;
  /** The adapter's word: what it sends does not turn reasoning off for certain. */
  mayReason: boolean;
  /** Reasoning came in its field. Text of the answer is no sign: a client can ask for any. */
  isShown: boolean;
}

/**
 * Whether there may be reasoning that was not received. One that shows all of it is believed when it is told not to reason,
 * since what it did all the same would be seen.
 */
export function mayHideReasoning({ request, showsReasoning, mayReason, isShown }: ReasoningSigns): boolean {
  if (!mayReason) return false;
  return !showsReasoning || !(isShown || isReasoningOff(request));
}

export interface LeftStream {
  model: Pick<TextModel, 'spec'>;
  /** Tokens of output, over all choices, that were held for. */
  heldTokens: number;
  /** Rate of the last answers of the model; undefined: not measured. */
  measuredTokensPerSecond?: number | undefined;
  /** From the call to its end; 0 where no reasoning went unseen. */
  elapsedMs: number;
}

export interface LeftUsage {
  usage: TokenUsage;
  /** For the notes of the entry; empty where the time did not count. */
  remarks: string[];
}

/**
 * A service charges for reasoning that it does not send, and tells how much in its last frame. Where that frame will not be
 * read, the time stands for it, up to the tokens that were held for.
 */
export function withUnseenReasoning(usage: TokenUsage, left: LeftStream): LeftUsage {
  const { model, heldTokens, measuredTokensPerSecond, elapsedMs } = left;
  const tokensPerSecond = tokensPerSecondOf(model, measuredTokensPerSecond);
  const seconds = Math.max(0, elapsedMs) / 1_000;
  const made = Math.min(Math.ceil(seconds * tokensPerSecond), heldTokens);
  if (made <= usage.completionTokens) return { usage, remarks: [] };
  const unseen = made - usage.completionTokens;
  const remark = `left after ${seconds.toFixed(1)} s of unseen reasoning: ${tokensPerSecond} tokens a second`;
  return {
    usage: { ...usage, completionTokens: made, reasoningTokens: usage.reasoningTokens + unseen },
    remarks: [remark],
  };
}

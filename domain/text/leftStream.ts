/** Rules for a stream whose client left before its end: what happens to the upstream call, and what is billed. */
import type { TextModel } from '../catalogue/model.ts';
import type { OnDisconnect, ProviderSettings } from '../providerSettings.ts';
import type { ChatRequest, TokenUsage } from './chat.ts';

/** Rate of a model without one, until its answers are measured. Common services write 40 to 150 tokens a second. */
export const DEFAULT_TOKENS_PER_SECOND = 80;

/** Setting of the model, otherwise of its provider entry, otherwise `abort`. */
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

/** `enabled` is ignored when there is an effort. */
export function isReasoningOff({ reasoning }: Pick<ChatRequest, 'reasoning'>): boolean {
  const { effort, enabled } = reasoning ?? {};
  return effort === 'none' || (effort === undefined && enabled === false);
}

export interface ReasoningSigns {
  request: Pick<ChatRequest, 'reasoning'>;
  /** The service sends all reasoning, in its own field. */
  showsReasoning: boolean;
  /** The adapter's request does not reliably turn reasoning off. */
  mayReason: boolean;
  /** Reasoning came in its field. Answer text proves nothing: a client can ask for any text. */
  isShown: boolean;
}

/**
 * Whether there may be reasoning that was not received. A service that shows all of it is trusted to obey when told not
 * to reason, since any reasoning would be visible.
 */
export function mayHideReasoning({ request, showsReasoning, mayReason, isShown }: ReasoningSigns): boolean {
  if (!mayReason) return false;
  return !showsReasoning || !(isShown || isReasoningOff(request));
}

export interface LeftStream {
  model: Pick<TextModel, 'spec'>;
  /** Output tokens of all choices that the hold covers. */
  heldTokens: number;
  /** Rate of the last answers of the model; undefined: not measured. */
  measuredTokensPerSecond?: number | undefined;
  /** Time from the call to its end; 0 when no reasoning was hidden. */
  elapsedMs: number;
}

export interface LeftUsage {
  usage: TokenUsage;
  /** Notes for the entry; empty when the time was not billed. */
  remarks: string[];
}

/**
 * A service charges for reasoning that it does not send, and reports its amount in the last frame. When that frame is
 * not read, the elapsed time is billed as tokens, up to the held tokens.
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

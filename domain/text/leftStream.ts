/** Rules for a stream whose client has left before its end: what becomes of the upstream call, and what is billed. */
import type { TextModel } from '../catalogue/model.ts';
import type { OnDisconnect, ProviderSettings } from '../providerSettings.ts';
import type { ChatRequest, TokenUsage } from './chat.ts';

/** Of a model whose entry does not say. Common services write 40 to 150 tokens a second. */
export const DEFAULT_TOKENS_PER_SECOND = 80;

/** The model's own word, else that of its provider entry, else `abort`. */
export function onDisconnectOf(
  { spec, provider }: Pick<TextModel, 'spec' | 'provider'>,
  providers: Readonly<Record<string, ProviderSettings>>,
): OnDisconnect {
  const settings = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const ofEntry = settings && 'onDisconnect' in settings ? settings.onDisconnect : undefined;
  return spec.onDisconnect ?? ofEntry ?? 'abort';
}

/** Undefined: the model does not reason. */
export function tokensPerSecondOf({ spec }: Pick<TextModel, 'spec'>): number | undefined {
  if (spec.capabilities?.supportsReasoning !== true) return undefined;
  return spec.tokensPerSecond ?? DEFAULT_TOKENS_PER_SECOND;
}

export interface LeftStream {
  model: Pick<TextModel, 'spec'>;
  request: Pick<ChatRequest, 'reasoning' | 'maxTokens' | 'n'>;
  /** Reasoning has come: what is unseen is little. */
  showsReasoning: boolean;
  /** From the call to its end; 0 where the client did not leave. */
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
  const { model, request, showsReasoning, elapsedMs } = left;
  const tokensPerSecond = tokensPerSecondOf(model);
  const seconds = Math.max(0, elapsedMs) / 1_000;
  const made = Math.min(Math.ceil(seconds * (tokensPerSecond ?? 0)), request.maxTokens * request.n);
  const isOff = request.reasoning?.enabled === false || request.reasoning?.effort === 'none';
  if (isOff || showsReasoning || made <= usage.completionTokens) return { usage, remarks: [] };
  const unseen = made - usage.completionTokens;
  const remark = `left after ${seconds.toFixed(1)} s of unseen reasoning: ${tokensPerSecond} tokens a second`;
  return {
    usage: { ...usage, completionTokens: made, reasoningTokens: usage.reasoningTokens + unseen },
    remarks: [remark],
  };
}

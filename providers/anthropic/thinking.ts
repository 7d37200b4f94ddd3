/** Claude's thinking, kept to be returned in a later turn. `data` is its signature, or all of it if redacted. */
import type { ReasoningDetail } from '../../domain/text/chat.ts';

export const THINKING_FORMAT = 'anthropic-claude-v1';

export function thinkingDetail(index: number, text: string, signature: string): ReasoningDetail {
  return { type: 'thinking', index, format: THINKING_FORMAT, text, data: signature };
}

export function sealedThought(index: number, data: string): ReasoningDetail {
  return { type: 'redacted_thinking', index, format: THINKING_FORMAT, data };
}

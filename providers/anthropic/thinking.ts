/** What Claude thought, kept so that a later turn can hand it back: `data` is its signature, or all of it where it is sealed. */
import type { ReasoningDetail } from '../../domain/text/chat.ts';

export const THINKING_FORMAT = 'anthropic-claude-v1';

export function thinkingDetail(index: number, text: string, signature: string): ReasoningDetail {
  return { type: 'thinking', index, format: THINKING_FORMAT, text, data: signature };
}

export function sealedThought(index: number, data: string): ReasoningDetail {
  return { type: 'redacted_thinking', index, format: THINKING_FORMAT, data };
}

/** Reasoning that a service counts beside the limit of an answer: it is held for by the effort that is asked. */
import type { ReasoningEffort } from '../catalogue/specs.ts';
import type { ChatRequest } from './chat.ts';

/** Generous for each effort; nothing tells a bound. */
const TOKENS: Record<ReasoningEffort, number> = {
  none: 0,
  minimal: 4_096,
  low: 8_192,
  medium: 16_384,
  high: 32_768,
  xhigh: 65_536,
  max: 65_536,
};
/** A model that is told no effort has one of its own. */
const DEFAULT_EFFORT: ReasoningEffort = 'high';

/** Per choice. A request without `reasoning` is for a model that has none. */
export function reasoningBesideOf({ reasoning }: Pick<ChatRequest, 'reasoning'>): number {
  if (reasoning === undefined) return 0;
  const { effort, enabled } = reasoning;
  if (effort === undefined && enabled === false) return 0;
  return TOKENS[effort ?? DEFAULT_EFFORT];
}

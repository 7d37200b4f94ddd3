/** Rules for a stream whose client has left. */
import { describe, expect, it } from 'vitest';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';
import type { ChatRequest, TokenUsage } from '../../../domain/text/chat.ts';
import {
  DEFAULT_TOKENS_PER_SECOND,
  onDisconnectOf,
  withUnseenReasoning,
} from '../../../domain/text/leftStream.ts';

const PRICE = { usd: 1, diem: 1 };
const SPEC: TextModel['spec'] = {
  availableContextTokens: 1_000,
  capabilities: { supportsReasoning: true },
  pricing: { input: PRICE, output: PRICE },
};
const USAGE: TokenUsage = {
  ...{ promptTokens: 10, cachedTokens: 0, cacheWriteTokens: 0 },
  ...{ completionTokens: 20, reasoningTokens: 5 },
};

describe('onDisconnect', () => {
  const openai = (more: object = {}): ProviderSettings => ({ kind: 'openai', ...more });
  it.each<[string, Partial<TextModel['spec']>, Record<string, ProviderSettings>, string]>([
    ['nobody says anything', {}, { llm: openai() }, 'abort'],
    ['the entry is of kind anthropic', {}, { llm: { kind: 'anthropic' } }, 'abort'],
    ['the entry has no such setting', {}, { llm: { kind: 'local' } }, 'abort'],
    ['there is no such entry', {}, {}, 'abort'],
    ['the entry says drain', {}, { llm: openai({ onDisconnect: 'drain' }) }, 'drain'],
    ['the model says drain', { onDisconnect: 'drain' }, { llm: openai() }, 'drain'],
    ['both speak', { onDisconnect: 'abort' }, { llm: openai({ onDisconnect: 'drain' }) }, 'abort'],
  ])('where %s', (_case, spec, providers, expected) => {
    expect(onDisconnectOf({ provider: 'llm', spec: { ...SPEC, ...spec } }, providers)).toBe(expected);
  });
});

describe('the bill of unseen reasoning', () => {
  const asked = (more: Partial<ChatRequest> = {}) => ({ maxTokens: 10_000, n: 1, ...more });
  const left = (
    spec: Partial<TextModel['spec']>,
    request: Partial<ChatRequest>,
    more: { showsReasoning?: boolean; elapsedMs?: number } = {},
  ) =>
    withUnseenReasoning(USAGE, {
      ...{ model: { spec: { ...SPEC, ...spec } }, request: asked(request) },
      ...{ showsReasoning: false, elapsedMs: 2_500, ...more },
    });

  it.each<[string, ReturnType<typeof left>, number]>([
    ['is by the seconds at the default rate', left({}, {}), 2.5 * DEFAULT_TOKENS_PER_SECOND],
    ["is by the model's own rate", left({ tokensPerSecond: 1_000 }, {}), 2_500],
    ['is at most what was held for', left({ tokensPerSecond: 1_000 }, { maxTokens: 300 }), 300],
    [
      'is at most what was held for all choices',
      left({ tokensPerSecond: 1_000 }, { maxTokens: 300, n: 2 }),
      600,
    ],
    ['is rounded up', left({ tokensPerSecond: 41 }, {}, { elapsedMs: 1_001 }), 42],
    ['is what was counted where that is more', left({ tokensPerSecond: 1 }, {}), 20],
    ['is what was counted where reasoning was shown', left({}, {}, { showsReasoning: true }), 20],
    ['is what was counted where the model cannot reason', left({ capabilities: {} }, {}), 20],
    ['is what was counted where reasoning was turned off', left({}, { reasoning: { enabled: false } }), 20],
    ['is what was counted with the effort none', left({}, { reasoning: { effort: 'none' } }), 20],
    ['is what was counted where nobody left', left({}, {}, { elapsedMs: 0 }), 20],
  ])('%s', (_rule, { usage, remarks }, completionTokens) => {
    expect(usage).toEqual({
      ...USAGE,
      completionTokens,
      reasoningTokens: USAGE.reasoningTokens + completionTokens - USAGE.completionTokens,
    });
    expect(remarks).toHaveLength(completionTokens > USAGE.completionTokens ? 1 : 0);
  });
});

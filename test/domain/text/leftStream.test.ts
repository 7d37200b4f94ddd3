/** Rules for a stream whose client has disconnected. */
import { describe, expect, it } from 'vitest';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import type { ProviderSettings } from '../../../domain/providerSettings.ts';
import type { TokenUsage } from '../../../domain/text/chat.ts';
import {
  DEFAULT_TOKENS_PER_SECOND,
  isReasoningOff,
  mayHideReasoning,
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

describe('reasoning', () => {
  it.each([
    [undefined, false],
    [{}, false],
    [{ enabled: true }, false],
    [{ enabled: false }, true],
    [{ effort: 'none' }, true],
    [{ effort: 'none', enabled: true }, true],
    // An effort takes precedence over the switch.
    [{ effort: 'low', enabled: false }, false],
    [{ effort: 'max' }, false],
  ] as const)('requested with %j is off: %s', (reasoning, isOff) => {
    expect(isReasoningOff(reasoning === undefined ? {} : { reasoning })).toBe(isOff);
  });
});

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
  ])('if %s', (_case, spec, providers, expected) => {
    expect(onDisconnectOf({ provider: 'llm', spec: { ...SPEC, ...spec } }, providers)).toBe(expected);
  });
});

describe('the bill of unseen reasoning', () => {
  const left = (
    spec: Partial<TextModel['spec']>,
    more: { heldTokens?: number; elapsedMs?: number; measuredTokensPerSecond?: number } = {},
  ) =>
    withUnseenReasoning(USAGE, {
      ...{ model: { spec: { ...SPEC, ...spec } }, heldTokens: 10_000, elapsedMs: 2_500, ...more },
    });

  it.each<[string, ReturnType<typeof left>, number]>([
    ['is by the seconds at the default rate', left({}), 2.5 * DEFAULT_TOKENS_PER_SECOND],
    ["is by the model's own rate", left({ tokensPerSecond: 1_000 }), 2_500],
    ['is by the measured rate', left({}, { measuredTokensPerSecond: 150 }), 375],
    [
      "is by the model's own rate where there is a measured one, too",
      left({ tokensPerSecond: 1_000 }, { measuredTokensPerSecond: 150 }),
      2_500,
    ],
    ['is at most what was held for', left({ tokensPerSecond: 1_000 }, { heldTokens: 300 }), 300],
    ['is rounded up', left({ tokensPerSecond: 41 }, { elapsedMs: 1_001 }), 42],
    ['is what was counted where that is more', left({ tokensPerSecond: 1 }), 20],
    ['is what was counted where the model cannot reason', left({ capabilities: {} }), 20],
    ['is what was counted where no time counts', left({}, { elapsedMs: 0 }), 20],
  ])('%s', (_rule, { usage, remarks }, completionTokens) => {
    expect(usage).toEqual({
      ...USAGE,
      completionTokens,
      reasoningTokens: USAGE.reasoningTokens + completionTokens - USAGE.completionTokens,
    });
    expect(remarks).toHaveLength(completionTokens > USAGE.completionTokens ? 1 : 0);
  });
});

describe('possibly unseen reasoning', () => {
  const off = { reasoning: { enabled: false } };
  const none = { reasoning: { enabled: true, effort: 'none' } } as const;
  it.each([
    ['where none came', { showsReasoning: true }, true],
    ['where a part came of a service that does not show all', { isShown: true }, true],
    ['where it was turned off and the service shows none', { request: off }, true],
    ['where the effort is none and the service shows none', { request: none }, true],
    ['but not where a service that shows all has sent some', { showsReasoning: true, isShown: true }, false],
    ['but not where a service that shows all was told not to', { showsReasoning: true, request: off }, false],
    ['but not with the effort none where all is shown', { showsReasoning: true, request: none }, false],
    ['but not where the adapter turned it off', { mayReason: false }, false],
  ])('%s', (_case, signs, expected) => {
    const usual = { request: {}, showsReasoning: false, mayReason: true, isShown: false };
    expect(mayHideReasoning({ ...usual, ...signs })).toBe(expected);
  });
});

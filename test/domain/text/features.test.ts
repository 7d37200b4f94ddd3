import { describe, expect, it } from 'vitest';
import type { TextModel } from '../../../domain/catalogue/model.ts';
import type { Capabilities } from '../../../domain/catalogue/specs.ts';
import { type Feature, missingFeatures } from '../../../domain/text/features.ts';
import { reasoningBesideOf, tokensOfSealed } from '../../../domain/text/promptSize.ts';

const NEEDED: [Feature, keyof Capabilities, string][] = [
  ['image', 'supportsVision', 'image input'],
  ['audio', 'supportsAudioInput', 'audio input'],
  ['video', 'supportsVideoInput', 'video input'],
  ['tools', 'supportsFunctionCalling', 'function calling'],
  ['schema', 'supportsResponseSchema', 'response_format'],
  ['logprobs', 'supportsLogProbs', 'log probabilities'],
  ['webSearch', 'supportsWebSearch', 'web search'],
];

function modelOf(capabilities?: Capabilities): TextModel {
  return {
    ...{ id: 'llm', kind: 'text', type: 'text', provider: 'p', upstreamModel: 'llm', name: 'LLM' },
    ...{ privacy: 'private', description: '', modelSource: '', created: 0 },
    spec: {
      availableContextTokens: 1,
      pricing: { input: { usd: 1, diem: 1 }, output: { usd: 1, diem: 1 } },
      ...(capabilities && { capabilities }),
    },
  };
}

describe('a requested feature', () => {
  it.each(NEEDED)('%s needs the capability %s', (feature, flag, words) => {
    const asked = new Map([[feature, `messages.0.${feature}`]]);
    expect(missingFeatures(modelOf({ [flag]: true }), asked)).toEqual([]);
    const missing = [{ path: `messages.0.${feature}`, words: `llm does not support ${words}` }];
    expect(missingFeatures(modelOf({ [flag]: false }), asked)).toEqual(missing);
    expect(missingFeatures(modelOf({}), asked)).toEqual(missing);
    expect(missingFeatures(modelOf(), asked)).toEqual(missing);
  });

  it('is reported once as missing, in the order of the request', () => {
    const asked = new Map<Feature, string>([
      ['tools', 'tools'],
      ['image', 'messages.1'],
      ['schema', 'response_format'],
    ]);
    const found = missingFeatures(modelOf({ supportsResponseSchema: true }), asked);
    expect(found.map(({ path }) => path)).toEqual(['tools', 'messages.1']);
    expect(missingFeatures(modelOf(), new Map())).toEqual([]);
  });
});

describe('reasoning outside the output limit', () => {
  it.each([
    ['a model that does not reason', undefined, 0],
    ['reasoning that is turned off', { enabled: false }, 0],
    ['the effort none', { effort: 'none' }, 0],
    ['reasoning as the model likes', {}, 32_768],
    ['reasoning that is turned on', { enabled: true }, 32_768],
    ['the least effort', { effort: 'minimal' }, 4_096],
    ['a low effort', { effort: 'low' }, 8_192],
    ['a medium effort', { effort: 'medium' }, 16_384],
    ['a high effort', { effort: 'high' }, 32_768],
    ['the highest efforts', { effort: 'xhigh' }, 65_536],
    ['the most effort', { effort: 'max' }, 65_536],
    ['an effort that counts before the switch', { effort: 'low', enabled: false }, 8_192],
  ] as const)('adds to the hold by its effort: %s', (_what, reasoning, tokens) => {
    expect(reasoningBesideOf(reasoning === undefined ? {} : { reasoning })).toBe(tokens);
  });
});

describe('the tokens of an encrypted text', () => {
  it.each([
    [0, 0],
    [1, 1],
    [2, 1],
    // Overhead of an empty text.
    [186, 1],
    [188, 1],
    [194, 1],
    [196, 2],
    [186 + 8_000, 1_000],
  ])('of %i digits is %i', (digits, tokens) => {
    expect(tokensOfSealed('a'.repeat(digits))).toBe(tokens);
  });
});

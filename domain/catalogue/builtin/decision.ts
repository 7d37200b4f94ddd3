/** Decision models (api-facts 11): prices per million tokens. */
import type { DecisionModel } from '../model.ts';
import { base, price } from './entry.ts';

export const DECISION_MODELS: readonly DecisionModel[] = [
  {
    ...base({ id: 'jev-latest', provider: 'openai', privacy: 'anonymized' }),
    kind: 'decision',
    type: 'decision',
    listing: { betaModel: true },
    spec: {
      maxStateTokens: 32_000,
      maxTotalTokens: 64_000,
      pricing: { input: price(0.042), output: price(0) },
    },
  },
];

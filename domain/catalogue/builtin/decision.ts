/** Decision models (MODEL-5): prices per million tokens. */
import { DEFAULT_CREATED, type DecisionModel } from '../model.ts';
import { base, price } from './entry.ts';

/** Online on a fresh machine; its description says that it is a simulator. */
const SIMULATOR: DecisionModel = {
  id: 'simulator-decision',
  provider: 'simulator',
  upstreamModel: 'simulator-decision',
  privacy: 'private',
  name: 'simulator-decision',
  description:
    'A simulation: it asks no model. The more words an option shares with the state and the question, the likelier it is.',
  modelSource: '',
  created: DEFAULT_CREATED,
  kind: 'decision',
  type: 'decision',
  spec: {
    maxStateTokens: 32_000,
    maxTotalTokens: 64_000,
    pricing: { input: price(0.01), output: price(0) },
  },
};

export const DECISION_MODELS: readonly DecisionModel[] = [
  SIMULATOR,
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

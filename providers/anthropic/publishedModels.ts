import type { PublishedModels } from '../../domain/providerKind.ts';

export const ANTHROPIC_MODELS: PublishedModels = {
  'claude-sonnet-5': 'claude-sonnet-5',
  'claude-opus-5': 'claude-opus-5',
};

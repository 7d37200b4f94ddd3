import type { PublishedModels } from '../../domain/providerKind.ts';

/** Published models that OpenAI itself serves. A compatible server has others, which its operator maps. */
export const OPENAI_MODELS: PublishedModels = {
  'openai-gpt-52': 'gpt-5.2',
  'openai-gpt-4o-mini-2024-07-18': 'gpt-4o-mini-2024-07-18',
  'text-embedding-3-large': 'text-embedding-3-large',
  'text-embedding-3-small': 'text-embedding-3-small',
  'gpt-image-2': 'gpt-image-2',
  'gpt-image-1-5-edit': 'gpt-image-1.5',
  'gpt-image-2-edit': 'gpt-image-2',
};

/** The provider kinds. A kind is a folder and one line here. The configuration schema lists them in this order. */
import type { ProviderDefinition } from './shared/providerDefinition.ts';

export const PROVIDERS: readonly [ProviderDefinition, ...ProviderDefinition[]] = [
  (await import('./openai/index.ts')).openai,
  (await import('./anthropic/index.ts')).anthropic,
  (await import('./elevenlabs/index.ts')).elevenlabs,
  (await import('./fal/index.ts')).fal,
  (await import('./replicate/index.ts')).replicate,
  (await import('./local/index.ts')).local,
  (await import('./simulator/index.ts')).simulator,
];

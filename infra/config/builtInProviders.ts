import type { ProviderSettings } from '../../domain/providerSettings.ts';

/** Provider entries that need no configuration; an entry of the same name in the file replaces one. */
export const BUILT_IN_PROVIDERS = {
  local: { kind: 'local' },
  simulator: { kind: 'simulator', latencyMs: 0, outcome: 'done', faults: [], lookup: true, models: {} },
  elevenlabs: { kind: 'elevenlabs', apiKeyEnv: 'ELEVENLABS_API_KEY' },
} satisfies Record<string, ProviderSettings>;

export function mergeProviders(
  configured: Record<string, ProviderSettings>,
): Record<string, ProviderSettings> {
  return { ...BUILT_IN_PROVIDERS, ...configured };
}

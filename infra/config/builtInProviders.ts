import type { OpenAiSettings, ProviderSettings } from '../../domain/providerSettings.ts';
import { USUAL_OLLAMA } from './ollamaAddress.ts';

/** The entry that the models of an Ollama have which was found by itself; models of the file may name it too. */
export const OLLAMA_PROVIDER = 'ollama';

/** Provider entries that need no configuration; an entry of the same name in the file replaces one. */
export const BUILT_IN_PROVIDERS = {
  local: { kind: 'local' },
  simulator: { kind: 'simulator', latencyMs: 0, outcome: 'done', faults: [], lookup: true, models: {} },
  elevenlabs: { kind: 'elevenlabs', apiKeyEnv: 'ELEVENLABS_API_KEY' },
  [OLLAMA_PROVIDER]: ollamaAt(USUAL_OLLAMA),
} satisfies Record<string, ProviderSettings>;

/** `ollama`: the address of the built-in entry, where it is not the usual one. */
export function mergeProviders(
  configured: Record<string, ProviderSettings>,
  ollama: string = USUAL_OLLAMA,
): Record<string, ProviderSettings> {
  return { ...BUILT_IN_PROVIDERS, [OLLAMA_PROVIDER]: ollamaAt(ollama), ...configured };
}

function ollamaAt(address: string): OpenAiSettings {
  return { kind: 'openai', baseUrl: `${address}/v1`, allowPrivateNetwork: true, dialect: 'ollama' };
}

import type { OpenAiSettings, ProviderSettings } from '../../domain/providerSettings.ts';
import { USUAL_OLLAMA } from './ollamaAddress.ts';

/** The entry that the models of an Ollama have which was found by itself; models of the file may name it too. */
export const OLLAMA_PROVIDER = 'ollama';

/** Provider entries that need no configuration; an entry of the same name in the file replaces one. */
export const BUILT_IN_PROVIDERS = {
  local: { kind: 'local' },
  simulator: {
    kind: 'simulator',
    latencyMs: 0,
    outcome: 'done',
    faults: [],
    lookup: true,
    synchronous: false,
    models: {},
  },
  elevenlabs: { kind: 'elevenlabs', apiKeyEnv: 'ELEVENLABS_API_KEY' },
  [OLLAMA_PROVIDER]: ollamaAt(USUAL_OLLAMA),
} satisfies Record<string, ProviderSettings>;

/** What the environment adds to the entries. */
export interface Surroundings {
  /** The address of the built-in entry, where it is not the usual one. */
  ollama?: string | undefined;
  /** Whether a speech synthesiser is named. */
  speaks?: boolean;
  /** Whether a speech recogniser is named. */
  hears?: boolean;
}

export function mergeProviders(
  configured: Record<string, ProviderSettings>,
  { ollama = USUAL_OLLAMA, speaks = false, hears = false }: Surroundings = {},
): Record<string, ProviderSettings> {
  const merged = { ...BUILT_IN_PROVIDERS, [OLLAMA_PROVIDER]: ollamaAt(ollama), ...configured };
  const entries = Object.entries<ProviderSettings>(merged).map(([name, settings]) => [
    name,
    settings.kind === 'local' ? { ...settings, speaks, hears } : settings,
  ]);
  return Object.fromEntries(entries);
}

function ollamaAt(address: string): OpenAiSettings {
  return { kind: 'openai', baseUrl: `${address}/v1`, allowPrivateNetwork: true, dialect: 'ollama' };
}

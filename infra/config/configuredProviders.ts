import { type ConfiguredProviders, keylessFirst } from '../../domain/providerKind.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { DEFAULT_OLLAMA } from './ollamaAddress.ts';
import type { ConfigurableKinds } from './schema/primitives.ts';

/** Entry of the models of an automatically found Ollama; models of the file may use it too. */
export const OLLAMA_PROVIDER = 'ollama';

/** Adds the entries that need no configuration; an entry of the same name in the file replaces one. */
export function configuredProviders(
  kinds: ConfigurableKinds,
  configured: Record<string, ProviderSettings>,
  ollama = DEFAULT_OLLAMA,
): ConfiguredProviders {
  const builtIn = keylessFirst(kinds).filter(({ isBuiltIn }) => isBuiltIn);
  const entries = builtIn.map(({ kind, settings }) => [kind, settings.parse({ kind })] as const);
  return {
    providers: { ...Object.fromEntries(entries), [OLLAMA_PROVIDER]: ollamaAt(ollama), ...configured },
    providerKinds: new Map(kinds.map((each) => [each.kind, each])),
  };
}

function ollamaAt(address: string) {
  return { kind: 'openai', baseUrl: `${address}/v1`, allowPrivateNetwork: true, dialect: 'ollama' };
}

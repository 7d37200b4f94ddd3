/** Opens the provider entries that answer text requests. */
import type { ProviderSettings } from '../domain/providerSettings.ts';
import { createLexicalEmbedder } from './local/lexicalEmbedding.ts';
import { createTextSimulator } from './simulator/textSimulator.ts';
import type { TextProvider } from './textProvider.ts';

export interface TextConfiguration {
  providers: Readonly<Record<string, ProviderSettings>>;
  secret(name: string): string | undefined;
}

/** By entry name; an entry that serves no text, or whose key is missing, is absent: its models are offline. */
export function createTextProviders(configuration: TextConfiguration): Map<string, TextProvider> {
  const opened = new Map<string, TextProvider>();
  for (const [name, settings] of Object.entries(configuration.providers)) {
    const provider = open(settings);
    if (provider) opened.set(name, provider);
  }
  return opened;
}

function open(settings: ProviderSettings): TextProvider | undefined {
  switch (settings.kind) {
    case 'local':
      return createLexicalEmbedder();
    case 'simulator':
      return createTextSimulator(settings);
    default:
      return undefined;
  }
}

/** Opens the provider entries that make media while the client waits; of the three wiring functions it belongs to the third. */
import type { ProviderSettings } from '../domain/providerSettings.ts';
import type { GuardedFetch } from '../infra/http/guardedFetch.ts';
import type { MediaTools } from '../infra/media/mediaTools.ts';
import type { ProviderConfiguration } from './createProviders.ts';
import { createElevenLabsMedia } from './elevenlabs/media/elevenLabsMedia.ts';
import type { MediaProvider } from './mediaProvider.ts';
import { openOpenAiMedia } from './openai/media/openOpenAiMedia.ts';

export interface MediaMeans {
  tools: MediaTools;
  guardedFetch: GuardedFetch;
}

interface Opening extends MediaMeans {
  name: string;
  configuration: Pick<ProviderConfiguration, 'providers' | 'secret' | 'dataFolder'>;
}

type Opener<Kind extends ProviderSettings['kind']> = (
  settings: Extract<ProviderSettings, { kind: Kind }>,
  opening: Opening,
) => MediaProvider | undefined;

/** By kind of entry, for those that have such operations. */
const OPENERS: { [Kind in ProviderSettings['kind']]?: Opener<Kind> } = {
  openai: openOpenAiMedia,
  elevenlabs(settings, { name, configuration }) {
    const apiKey = configuration.secret(settings.apiKeyEnv ?? 'ELEVENLABS_API_KEY');
    return apiKey ? createElevenLabsMedia({ ...settings, name, apiKey }) : undefined;
  },
};

/** By entry name. An entry whose key is missing, or whose kind has no such operations, is absent: its models are offline. */
export function createMediaProviders(
  configuration: Opening['configuration'],
  means: MediaMeans,
): Map<string, MediaProvider> {
  const opened = new Map<string, MediaProvider>();
  for (const [name, settings] of Object.entries(configuration.providers)) {
    const open = OPENERS[settings.kind] as Opener<ProviderSettings['kind']> | undefined;
    const provider = open?.(settings, { name, configuration, ...means });
    if (provider) opened.set(name, provider);
  }
  return opened;
}

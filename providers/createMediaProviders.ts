/** Opens the provider entries that make media while the client waits; of the three wiring functions it belongs to the third. */
import type { ProviderSettings } from '../domain/providerSettings.ts';
import type { GuardedFetch } from '../infra/http/guardedFetch.ts';
import type { MediaTools } from '../infra/media/mediaTools.ts';
import type { Address } from './addressChoice.ts';
import type { ProviderConfiguration } from './createProviders.ts';
import { createElevenLabsMedia } from './elevenlabs/media/elevenLabsMedia.ts';
import { createMediaAddresses, type MediaOutcome } from './mediaAddresses.ts';
import type { MediaProvider } from './mediaProvider.ts';
import { openOpenAiMedia } from './openai/media/openOpenAiMedia.ts';

export interface MediaMeans {
  tools: MediaTools;
  guardedFetch: GuardedFetch;
  /** One per attempt with a foreign service, for the metrics. */
  observe?: (entry: string, outcome: MediaOutcome) => void;
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
  openai: (settings, opening) => reached(openOpenAiMedia(settings, opening), opening),
  elevenlabs(settings, opening) {
    const { name, configuration } = opening;
    const apiKey = configuration.secret(settings.apiKeyEnv ?? 'ELEVENLABS_API_KEY');
    if (!apiKey) return undefined;
    const provider = createElevenLabsMedia({ ...settings, name, apiKey });
    return reached([{ name: 'default', provider, weight: 1 }], opening);
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

/** A service that fails again and again is given a rest. Undefined: none of its addresses has its key. */
function reached(
  addresses: readonly Address<MediaProvider>[],
  { name, observe }: Opening,
): MediaProvider | undefined {
  if (addresses.length === 0) return undefined;
  return createMediaAddresses({ addresses, observe: observe && ((outcome) => observe(name, outcome)) });
}

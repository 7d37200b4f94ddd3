/** Opens the provider entries that make media while the client waits; of the three wiring functions it belongs to the third. */
import type { ProviderSettings } from '../domain/providerSettings.ts';
import type { ImageWork } from '../engines/images/imageWork.ts';
import type { MediaTools } from '../engines/media/mediaTools.ts';
import type { GuardedFetch } from '../infra/http/guardedFetch.ts';
import type { ProviderConfiguration } from './createProviders.ts';
import { createElevenLabsMedia } from './elevenlabs/media/elevenLabsMedia.ts';
import { createFalMedia } from './fal/media/falMedia.ts';
import { createLocalImages } from './local/images/localImages.ts';
import { localSpeaker } from './local/speechSync.ts';
import { localTranscriber } from './local/transcribe.ts';
import { openOpenAiMedia } from './openai/media/openOpenAiMedia.ts';
import { createReplicateMedia } from './replicate/media/replicateMedia.ts';
import type { Address } from './shared/addressChoice.ts';
import { createMediaAddresses, type MediaOutcome } from './shared/mediaAddresses.ts';
import type { MediaProvider } from './shared/mediaProvider.ts';
import { createTestCards } from './simulator/testCard.ts';

export interface MediaMeans {
  tools: MediaTools;
  guardedFetch: GuardedFetch;
  imageWork: ImageWork;
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
    const apiKey = opening.configuration.secret(settings.apiKeyEnv ?? 'ELEVENLABS_API_KEY');
    return apiKey
      ? alone(createElevenLabsMedia({ ...settings, name: opening.name, apiKey }), opening)
      : undefined;
  },
  fal(settings, opening) {
    const apiKey = opening.configuration.secret(settings.apiKeyEnv ?? 'FAL_KEY');
    return apiKey ? alone(createFalMedia({ ...settings, apiKey }, opening.guardedFetch), opening) : undefined;
  },
  replicate(settings, opening) {
    const { configuration, guardedFetch } = opening;
    const apiKey = configuration.secret(settings.apiKeyEnv ?? 'REPLICATE_API_TOKEN');
    return apiKey ? alone(createReplicateMedia({ ...settings, apiKey, guardedFetch }), opening) : undefined;
  },
  local(_settings, { tools, imageWork }) {
    return { ...createLocalImages(imageWork), ...localTranscriber(tools), ...localSpeaker(tools) };
  },
  simulator: (_settings, { imageWork }) => createTestCards(imageWork),
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

function alone(provider: MediaProvider, opening: Opening): MediaProvider | undefined {
  return reached([{ name: 'default', provider, weight: 1 }], opening);
}

/** A service that fails again and again is given a rest. Undefined: none of its addresses has its key. */
function reached(
  addresses: readonly Address<MediaProvider>[],
  { name, observe }: Opening,
): MediaProvider | undefined {
  if (addresses.length === 0) return undefined;
  return createMediaAddresses({ addresses, observe: observe && ((outcome) => observe(name, outcome)) });
}

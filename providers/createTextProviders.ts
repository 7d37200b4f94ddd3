/** Opens the provider entries that answer text at once; of the three wiring functions it belongs to the third. */
import type { TextSettings } from '../domain/textAddresses.ts';
import { createAnthropic } from './anthropic/anthropic.ts';
import type { ProviderConfiguration } from './createProviders.ts';
import { createLexicalEmbedding } from './local/lexicalEmbedding.ts';
import { createOpenAi } from './openai/openai.ts';
import { type AddressOpening, openAddresses } from './shared/remoteAddresses.ts';
import type { TextProvider } from './shared/textProvider.ts';
import { createUpstreams, type TextOutcome } from './shared/upstreams.ts';
import { createTextSimulator } from './simulator/textSimulator.ts';

export interface TextProviderConfiguration extends Pick<ProviderConfiguration, 'providers' | 'secret'> {
  /** One per attempt, for the metrics. */
  observe?: (entry: string, outcome: TextOutcome) => void;
}

/** By entry name. An address whose key is missing is left out, an entry without addresses is absent: its models are offline. */
export function createTextProviders(configuration: TextProviderConfiguration): Map<string, TextProvider> {
  const { observe } = configuration;
  const opened = new Map<string, TextProvider>();
  for (const [name, settings] of Object.entries(configuration.providers)) {
    if (settings.kind === 'local') opened.set(name, createLexicalEmbedding());
    if (settings.kind === 'simulator') opened.set(name, createTextSimulator(settings));
    if (settings.kind !== 'openai' && settings.kind !== 'anthropic') continue;
    const addresses = openAddresses<TextProvider>(settings, configuration.secret, (address) =>
      openAddress(name, settings, address),
    );
    if (addresses.length === 0) continue;
    opened.set(
      name,
      createUpstreams({ addresses, observe: observe && ((outcome) => observe(name, outcome)) }),
    );
  }
  return opened;
}

function openAddress(name: string, settings: TextSettings, opening: AddressOpening): TextProvider {
  const { baseUrl, apiKey } = opening;
  const { allowPrivateNetwork, timeouts } = settings;
  const shared = { name, baseUrl, allowPrivateNetwork, timeouts };
  return settings.kind === 'openai'
    ? createOpenAi({ ...shared, apiKey, dialect: settings.dialect, xSearch: settings.xSearch })
    : createAnthropic({ ...shared, apiKey: apiKey ?? '' });
}

/** Opens the provider entries that this release can serve; the third of the three wiring functions. */
import { join } from 'node:path';
import type { ProviderSettings } from '../domain/providerSettings.ts';
import type { MediaTools } from '../engines/media/mediaTools.ts';
import type { GuardedFetch } from '../infra/http/guardedFetch.ts';
import { createElevenLabs } from './elevenlabs/elevenlabs.ts';
import { createFal } from './fal/fal.ts';
import { createLocalProvider } from './local/localProvider.ts';
import { createReplicate } from './replicate/replicate.ts';
import type { GenerationProvider } from './shared/provider.ts';
import { createSimulator } from './simulator/simulator.ts';

/** The part of the configuration that providers are made of. */
export interface ProviderConfiguration {
  /** By entry name. */
  providers: Readonly<Record<string, ProviderSettings>>;
  dataFolder: string;
  jobs: { deadlineMinutes: number };
  /** The value of an environment variable that an entry names; undefined when unset. */
  secret(name: string): string | undefined;
}

/** What adapters work with. */
export interface ProviderMeans {
  tools: MediaTools;
  guardedFetch: GuardedFetch;
}

/**
 * By entry name. An entry whose key is missing, or whose kind is not served yet, is absent: its models are offline.
 */
export function createProviders(
  configuration: ProviderConfiguration,
  means: ProviderMeans,
): Map<string, GenerationProvider> {
  const opened = Object.entries(configuration.providers).map(([name, settings]) => {
    return [name, open(name, settings, { configuration, ...means })] as const;
  });
  return new Map(opened.flatMap(([name, provider]) => (provider ? [[name, provider]] : [])));
}

interface Surroundings extends ProviderMeans {
  configuration: ProviderConfiguration;
}

function open(
  name: string,
  settings: ProviderSettings,
  { configuration, tools, guardedFetch }: Surroundings,
): GenerationProvider | undefined {
  switch (settings.kind) {
    case 'local':
      return createLocalProvider(tools);
    case 'elevenlabs': {
      const apiKey = configuration.secret(settings.apiKeyEnv ?? 'ELEVENLABS_API_KEY');
      return apiKey ? createElevenLabs({ ...settings, apiKey }) : undefined;
    }
    case 'replicate': {
      const apiKey = configuration.secret(settings.apiKeyEnv ?? 'REPLICATE_API_TOKEN');
      const deadlineMs = configuration.jobs.deadlineMinutes * 60_000;
      return apiKey ? createReplicate({ ...settings, apiKey, deadlineMs, guardedFetch }) : undefined;
    }
    case 'simulator':
      return createSimulator(settings, {
        stateFolder:
          settings.stateFolder ?? join(configuration.dataFolder, 'simulator', encodeURIComponent(name)),
        tools,
      });
    case 'fal': {
      const apiKey = configuration.secret(settings.apiKeyEnv ?? 'FAL_KEY');
      return apiKey ? createFal({ ...settings, apiKey }, guardedFetch) : undefined;
    }
    case 'openai':
    case 'anthropic':
      return undefined;
  }
}

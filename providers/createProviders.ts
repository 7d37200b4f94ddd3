/** Opens the provider entries of the configuration. */
import type { ProviderSettings } from '../domain/providerSettings.ts';
import type { ImageWork } from '../engines/images/imageWork.ts';
import { PROVIDERS } from './registry.ts';
import type { MediaProvider } from './shared/mediaProvider.ts';
import type { GenerationProvider } from './shared/provider.ts';
import type { AdapterTools, ProviderParts } from './shared/providerDefinition.ts';
import { openAddresses } from './shared/serviceAddresses.ts';
import type { TextProvider } from './shared/textProvider.ts';
import type { MediaOutcome, TextOutcome } from './shared/upstreams.ts';

/** Configuration that providers are made from. */
interface ProviderConfiguration {
  /** Key: entry name. */
  providers: Readonly<Record<string, ProviderSettings>>;
  dataFolder: string;
  jobs: { deadlineMinutes: number };
  /** Value of an environment variable that an entry names; undefined if unset. */
  secret(name: string): string | undefined;
}

export interface ProviderMeans extends Pick<AdapterTools, 'tools' | 'guardedFetch'> {
  /** Called once per attempt of a synchronous call to a service, for the metrics. */
  observe?: (entry: string, outcome: TextOutcome | MediaOutcome) => void;
}

/** Each function opens one part of every entry that has it. Key: entry name. */
export interface Providers {
  text(): Map<string, TextProvider>;
  media(images: ImageWork): Map<string, MediaProvider>;
  queue(): Map<string, GenerationProvider>;
}

/** Omits entries without a key for any address: their models are offline. */
export function createProviders(configuration: ProviderConfiguration, means: ProviderMeans): Providers {
  const entries = Object.entries(configuration.providers).flatMap(([name, settings]) => {
    const parts = open(name, settings, { configuration, means });
    return parts ? [[name, parts] as const] : [];
  });
  function openEach<Part>(openPart: (parts: ProviderParts) => Part | undefined): Map<string, Part> {
    const opened = entries.map(([name, parts]) => [name, openPart(parts)] as const);
    return new Map(opened.flatMap(([name, part]) => (part ? [[name, part]] : [])));
  }
  return {
    text: () => openEach((parts) => parts.text?.()),
    media: (images) => openEach((parts) => parts.media?.(images)),
    queue: () => openEach((parts) => parts.queue?.()),
  };
}

function open(
  name: string,
  settings: ProviderSettings,
  { configuration, means }: { configuration: ProviderConfiguration; means: ProviderMeans },
): ProviderParts | undefined {
  const kind = PROVIDERS.find((definition) => definition.kind === settings.kind);
  if (!kind) return undefined;
  const addresses = openAddresses(name, { kind, settings }, configuration.secret);
  if (!addresses) return undefined;
  const { tools, guardedFetch, observe } = means;
  return kind.open({
    ...{ name, settings, addresses, tools, guardedFetch },
    observe: observe && ((outcome) => observe(name, outcome)),
    dataFolder: configuration.dataFolder,
    deadlineMs: configuration.jobs.deadlineMinutes * 60_000,
  });
}

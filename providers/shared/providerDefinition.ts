/** Definition of a provider kind: exported by `providers/<kind>/index.ts` and listed in providers/registry.ts. */
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import type { ImageWork } from '../../engines/images/imageWork.ts';
import type { MediaTools } from '../../engines/media/mediaTools.ts';
import type { ConfigurableKind } from '../../infra/config/schema/primitives.ts';
import type { GuardedFetch } from '../../infra/http/guardedFetch.ts';
import type { MediaProvider } from './mediaProvider.ts';
import type { GenerationProvider } from './provider.ts';
import type { ReachableService } from './serviceAddresses.ts';
import type { TextProvider } from './textProvider.ts';

export interface ProviderDefinition<Settings extends ProviderSettings = ProviderSettings>
  extends ConfigurableKind<Settings> {
  /** Starts nothing: the process opens the parts that it needs. Called only for entries with the key of an address. */
  open(entry: OpenEntry<Settings>): ProviderParts;
}

/** Parts of an entry, one per interface. A kind has those that its models need. */
export interface ProviderParts {
  /** Text and embeddings, synchronous. */
  text?(): TextProvider;
  /** Images, transcripts and speech, synchronous. */
  media?(images: ImageWork): MediaProvider;
  /** Queued jobs. */
  queue?(): GenerationProvider;
}

export interface AdapterTools {
  tools: MediaTools;
  guardedFetch: GuardedFetch;
  dataFolder: string;
  /** Time limit of a job. */
  deadlineMs: number;
}

interface OpenEntry<Settings extends ProviderSettings> extends ReachableService, AdapterTools {
  name: string;
  settings: Settings;
}

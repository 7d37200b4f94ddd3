/** Provider entries of a configuration, with the provider kinds that ship. */
import type { ModelSurroundings } from '../../domain/modelAccess.ts';
import type { ProviderSettings } from '../../domain/providerSettings.ts';
import { createGuardedFetch } from '../../infra/http/guardedFetch.ts';
import { createProviders, type ProviderMeans, type Providers } from '../../providers/createProviders.ts';
import { PROVIDERS } from '../../providers/registry.ts';

export const PROVIDER_KINDS: ModelSurroundings['providerKinds'] = new Map(PROVIDERS.map((each) => [each.kind, each]));

type Entries = Readonly<Record<string, ProviderSettings>>;

/** Has neither keys nor programs unless `more` provides them. */
export function configured(providers: Entries, more: Partial<ModelSurroundings> = {}): ModelSurroundings {
  return { providers, providerKinds: PROVIDER_KINDS, secret: () => undefined, ...more };
}

interface Opening extends Pick<ProviderMeans, 'observe'> {
  /** Key: name of the environment variable. */
  secrets?: Record<string, string>;
  /** Data folder and work folder. */
  folder?: string;
}

export function openProviders(
  providers: Entries,
  { secrets = {}, folder = '/nowhere', ...means }: Opening = {},
): Providers {
  const secret = (name: string) => secrets[name];
  const tools = { ffmpegPath: 'ffmpeg', ffprobePath: 'ffprobe', workFolder: folder };
  return createProviders(
    { providers, dataFolder: folder, jobs: { deadlineMinutes: 30 }, secret },
    { tools, guardedFetch: createGuardedFetch({ allowPrivateHosts: [] }), ...means },
  );
}

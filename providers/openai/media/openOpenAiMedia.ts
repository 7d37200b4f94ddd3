/** An entry of OpenAI's kind with all its addresses, as a provider of media. */
import type { OpenAiSettings } from '../../../domain/providerSettings.ts';
import type { GuardedFetch } from '../../../infra/http/guardedFetch.ts';
import { openAddresses } from '../../remoteAddresses.ts';
import { createMediaAddresses } from './mediaAddresses.ts';
import { createOpenAiMedia, type OpenAiMedia } from './openAiMedia.ts';

export interface OpenAiMediaMeans {
  name: string;
  configuration: { secret(name: string): string | undefined };
  guardedFetch: GuardedFetch;
}

/** Undefined: none of its addresses has its key. */
export function openOpenAiMedia(settings: OpenAiSettings, means: OpenAiMediaMeans): OpenAiMedia | undefined {
  const { name, configuration, guardedFetch } = means;
  const { allowPrivateNetwork, timeouts, dialect } = settings;
  const addresses = openAddresses(settings, configuration.secret, (address) =>
    createOpenAiMedia({ ...address, name, allowPrivateNetwork, timeouts, dialect, guardedFetch }),
  );
  return addresses.length === 0 ? undefined : createMediaAddresses({ addresses });
}

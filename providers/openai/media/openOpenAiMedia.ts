/** An entry of OpenAI's kind with all its addresses. */
import type { OpenAiSettings } from '../../../domain/providerSettings.ts';
import type { GuardedFetch } from '../../../infra/http/guardedFetch.ts';
import type { Address } from '../../shared/addressChoice.ts';
import type { MediaProvider } from '../../shared/mediaProvider.ts';
import { openAddresses } from '../../shared/remoteAddresses.ts';
import { createOpenAiMedia } from './openAiMedia.ts';

export interface OpenAiMediaMeans {
  name: string;
  configuration: { secret(name: string): string | undefined };
  guardedFetch: GuardedFetch;
}

/** Those whose key is there. */
export function openOpenAiMedia(settings: OpenAiSettings, means: OpenAiMediaMeans): Address<MediaProvider>[] {
  const { name, configuration, guardedFetch } = means;
  const { allowPrivateNetwork, timeouts, dialect } = settings;
  return openAddresses<MediaProvider>(settings, configuration.secret, (address) =>
    createOpenAiMedia({ ...address, name, allowPrivateNetwork, timeouts, dialect, guardedFetch }),
  );
}

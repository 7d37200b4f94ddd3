/** Opens the configured search engine; the default is Brave, if its key is set. */
import type { SearchSettings } from '../../domain/providerSettings.ts';
import { createBrave } from './brave.ts';
import type { SearchProvider } from './searchProvider.ts';
import { createSearxng } from './searxng.ts';

export interface SearchConfiguration {
  search?: SearchSettings;
  /** Value of an environment variable that the entry names; undefined if unset. */
  secret(name: string): string | undefined;
}

/** Undefined: no engine, or its key is missing. */
export function createSearch({ search, secret }: SearchConfiguration): SearchProvider | undefined {
  const settings = search ?? { kind: 'brave' };
  switch (settings.kind) {
    case 'brave': {
      const apiKey = secret(settings.apiKeyEnv ?? 'BRAVE_API_KEY');
      return apiKey ? createBrave({ ...settings, apiKey }) : undefined;
    }
    case 'searxng': {
      const apiKey = settings.apiKeyEnv === undefined ? undefined : secret(settings.apiKeyEnv);
      if (settings.apiKeyEnv !== undefined && !apiKey) return undefined;
      return createSearxng({ ...settings, apiKey });
    }
  }
}

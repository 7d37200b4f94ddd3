import type { ProviderTimeouts } from '../../domain/providerSettings.ts';

/** Means of reaching a service with one key. */
export interface ServiceAccess {
  apiKey: string;
  /** Default: the published address, or addresses. */
  baseUrl?: string | undefined;
  allowPrivateNetwork?: boolean | undefined;
  timeouts?: Partial<ProviderTimeouts> | undefined;
}

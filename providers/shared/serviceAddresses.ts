/** Addresses of a provider entry, each with its key, combined to one provider. */
import { addressesOf, type ProviderEntry } from '../../domain/providerKind.ts';
import type { ProviderTimeouts } from '../../domain/providerSettings.ts';
import type { Address } from './addressChoice.ts';
import type { MediaProvider } from './mediaProvider.ts';
import type { TextProvider } from './textProvider.ts';
import { createMediaAddresses, createUpstreams, type MediaOutcome, type TextOutcome } from './upstreams.ts';

/** Access to a service with one key. */
export interface ServiceAccess {
  /** Empty if none is sent: `sendsKeyTo` of the kind excludes it, or the kind has no `keyVariable`. */
  apiKey: string;
  /** Default: the published addresses. */
  baseUrl?: string | undefined;
  allowPrivateNetwork?: boolean | undefined;
  timeouts?: Partial<ProviderTimeouts> | undefined;
}

/** Access to a service at one of its addresses. */
export interface AddressAccess extends Required<ServiceAccess> {
  /** Name of the entry, for the metrics. */
  name: string;
}

interface ServiceAddress {
  /** Shown to operators; never contains a key. */
  name: string;
  weight: number;
  access: AddressAccess;
}

export interface ReachableService {
  addresses: readonly [ServiceAddress, ...ServiceAddress[]];
  /** Called once per attempt, for the metrics. */
  observe: ((outcome: TextOutcome | MediaOutcome) => void) | undefined;
}

/** Omits addresses without their key. Undefined: none is left. */
export function openAddresses(
  name: string,
  entry: ProviderEntry,
  secret: (variable: string) => string | undefined,
): ReachableService['addresses'] | undefined {
  const { allowPrivateNetwork, timeouts } = entry.settings;
  const [first, ...others] = addressesOf(entry).flatMap(({ baseUrl, keyVariable, weight }) => {
    const apiKey = keyVariable === undefined ? '' : secret(keyVariable);
    if (keyVariable !== undefined && !apiKey) return [];
    const access = { name, baseUrl, apiKey: apiKey ?? '', allowPrivateNetwork, timeouts };
    return [{ name: nameOf(baseUrl, keyVariable), weight, access }];
  });
  return first && [first, ...others];
}

/** Two keys at one address count as two addresses. */
function nameOf(baseUrl: string | undefined, variable: string | undefined): string {
  const host = baseUrl === undefined ? 'default' : new URL(baseUrl).host;
  return variable === undefined ? host : `${host} ${variable}`;
}

/** Sends each call to one of the addresses, except those paused after repeated failures. */
export function textAtAddresses(
  { addresses, observe }: ReachableService,
  open: (access: AddressAccess) => TextProvider,
): TextProvider {
  return createUpstreams({ addresses: openAll(addresses, open), observe });
}

export function mediaAtAddresses(
  { addresses, observe }: ReachableService,
  open: (access: AddressAccess) => MediaProvider,
): MediaProvider {
  return createMediaAddresses({ addresses: openAll(addresses, open), observe });
}

function openAll<Provider>(
  addresses: readonly ServiceAddress[],
  open: (access: AddressAccess) => Provider,
): Address<Provider>[] {
  return addresses.map(({ name, weight, access }) => ({ name, weight, provider: open(access) }));
}

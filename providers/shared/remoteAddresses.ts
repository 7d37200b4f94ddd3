/** The addresses of an entry, each opened with its own key. */
import { addressesOf, keyVariableOf, type TextSettings } from '../../domain/textAddresses.ts';
import type { Address } from './addressChoice.ts';

export interface AddressOpening {
  /** Undefined: the service's own. */
  baseUrl: string | undefined;
  /** Undefined: none is sent. */
  apiKey: string | undefined;
}

/** An address whose key is missing is left out. */
export function openAddresses<Provider>(
  settings: TextSettings,
  secret: (name: string) => string | undefined,
  open: (opening: AddressOpening) => Provider,
): Address<Provider>[] {
  return addressesOf(settings).flatMap((address) => {
    const { baseUrl, weight = 1 } = address;
    const variable = keyVariableOf(settings, address);
    const apiKey = variable === undefined ? undefined : secret(variable);
    if (variable !== undefined && !apiKey) return [];
    return [{ name: nameOf(baseUrl, variable), provider: open({ baseUrl, apiKey }), weight }];
  });
}

/** Two keys at one address are two. */
function nameOf(baseUrl: string | undefined, variable: string | undefined): string {
  const host = baseUrl === undefined ? 'default' : new URL(baseUrl).host;
  return variable === undefined ? host : `${host} ${variable}`;
}

import { lookup, Resolver } from 'node:dns/promises';

/** Every address that a name has now. Throws when it has none or none came in time. */
export type ResolveHost = (hostname: string) => Promise<string[]>;

export const DNS_DEADLINE_MS = 10_000;
const MAX_ADDRESSES = 100;

/**
 * The names of strangers: asked over the network by the resolver's own sockets, not by `getaddrinfo`, whose four threads a
 * few slow names would starve; /etc/hosts and search domains do not count.
 */
export async function resolvePublicHost(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: 3_000, tries: 2 });
  const expiry = setTimeout(() => resolver.cancel(), DNS_DEADLINE_MS);
  try {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0 || addresses.length > MAX_ADDRESSES) throw new Error('no usable DNS answer');
    return addresses;
  } finally {
    clearTimeout(expiry);
  }
}

/** The names that the operator configured: as the machine itself resolves them. The caller sets the deadline. */
export async function resolveConfiguredHost(hostname: string): Promise<string[]> {
  const entries = await lookup(hostname, { all: true, verbatim: true });
  return entries.map((entry) => entry.address);
}

import { lookup, Resolver } from 'node:dns/promises';

/** All present addresses of a name. Throws when there are none, or none in time. */
export type ResolveHost = (hostname: string) => Promise<string[]>;

export const DNS_DEADLINE_MS = 10_000;
const MAX_ADDRESSES = 100;

/**
 * Resolves names of strangers by the resolver's own sockets. A few slow names would block the four threads of
 * `getaddrinfo`. /etc/hosts and search domains do not count.
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

/** Resolves configured names as the machine itself does. The caller sets the deadline. */
export async function resolveConfiguredHost(hostname: string): Promise<string[]> {
  const entries = await lookup(hostname, { all: true, verbatim: true });
  return entries.map((entry) => entry.address);
}

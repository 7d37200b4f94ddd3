/** Checks the URL of a page without opening a connection (TEXT-31). */
import { isIP } from 'node:net';
import { FareboxError } from '../../../domain/errors.ts';
import { isPublicAddress, isPublicName } from '../publicAddress.ts';
import { type AllowedHosts, effectivePort, hostnameOf, parseTarget } from '../targetUrl.ts';

/** Sites that refuse automated readers. */
const BLOCKED_HOSTS = new Set([
  ...['x.com', 'www.x.com', 'mobile.x.com', 'twitter.com', 'www.twitter.com', 'mobile.twitter.com'],
  ...['reddit.com', 'www.reddit.com', 'old.reddit.com', 'new.reddit.com'],
]);

/** Throws FareboxError `invalid_source` or `blocked_source`. */
export function checkPageUrl(text: string, hosts: AllowedHosts): URL {
  const url = parsed(text, hosts);
  refuseBlockedHost(url);
  const hostname = hostnameOf(url);
  const isPublic = isIP(hostname) === 0 ? isPublicName(hostname) : isPublicAddress(hostname);
  if (!isPublic && !hosts.has(hostname, effectivePort(url))) {
    throw refused('The url must lead to a public site.', 'not a public host');
  }
  return url;
}

/** Called for each redirect as well. */
export function refuseBlockedHost(url: URL): void {
  const hostname = url.hostname.replace(/\.$/, '');
  if (!BLOCKED_HOSTS.has(hostname)) return;
  throw new FareboxError({
    code: 'blocked_source',
    message: `${hostname} does not allow automated access.`,
  });
}

function parsed(text: string, hosts: AllowedHosts): URL {
  try {
    return parseTarget(text, hosts);
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown';
    throw refused('The url must be an absolute http or https URL without credentials.', why);
  }
}

function refused(message: string, internal: string): FareboxError {
  return new FareboxError({ code: 'invalid_source', message, internal });
}

/** Checks the URL of a page without opening a connection (TEXT-31). */
import { FareboxError } from '../../../domain/errors.ts';
import { type AllowedHosts, parseTarget } from '../targetUrl.ts';

/** Sites that refuse automated readers. */
const BLOCKED_HOSTS = new Set([
  ...['x.com', 'www.x.com', 'mobile.x.com', 'twitter.com', 'www.twitter.com', 'mobile.twitter.com'],
  ...['reddit.com', 'www.reddit.com', 'old.reddit.com', 'new.reddit.com'],
]);

/** Throws FareboxError `invalid_source` or `blocked_source`. The connection refuses addresses that are not public. */
export function checkPageUrl(text: string, hosts: AllowedHosts): URL {
  const url = parsed(text, hosts);
  refuseBlockedHost(url);
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
    throw new FareboxError({
      code: 'invalid_source',
      message: 'The url must be an absolute http or https URL without credentials.',
      internal: error instanceof Error ? error.message : 'unknown',
    });
  }
}

/** What can be said of a URL before anybody is asked: its form, its port, and a host that never leads outside. */
import { isIP } from 'node:net';
import { isPublicAddress, isPublicName } from './publicAddress.ts';
import { allowedHosts, effectivePort, hostnameOf, parseTarget } from './targetUrl.ts';

/** True for a URL that will be refused whenever it is asked for; where a name leads is looked at then. */
export function isPlainlyRefused(text: string, allowPrivateHosts: readonly string[]): boolean {
  const hosts = allowedHosts(allowPrivateHosts);
  try {
    const url = parseTarget(text, hosts);
    const hostname = hostnameOf(url);
    if (hosts.has(hostname, effectivePort(url))) return false;
    return isIP(hostname) === 0 ? !isPublicName(hostname) : !isPublicAddress(hostname);
  } catch {
    return true;
  }
}

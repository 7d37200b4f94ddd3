/** One WHATWG parse; from here on only the parsed object counts (FETCH-3). */
import { isIP } from 'node:net';
import { isPublicAddress, isPublicName } from './publicAddress.ts';

export interface AllowedHosts {
  has(hostname: string, port: number): boolean;
}

/** An address that may not be asked for at all, whatever answers there: asking again changes nothing. */
export class TargetRefused extends Error {}

const MAX_URL_LENGTH = 4_096;
const OPEN_PORTS = [80, 443];

/** Throws TargetRefused with the reason, for the log, when the URL is not one that may be asked for. */
export function parseTarget(text: string, hosts: AllowedHosts): URL {
  if (text.length > MAX_URL_LENGTH) refuse('URL too long');
  const url = URL.canParse(text) ? new URL(text) : refuse('not a URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') refuse('scheme not allowed');
  if (url.username !== '' || url.password !== '') refuse('credentials in the URL');
  if (url.hostname === '') refuse('no host');
  const port = effectivePort(url);
  if (!OPEN_PORTS.includes(port) && !hosts.has(hostnameOf(url), port)) refuse('port not allowed');
  url.hash = '';
  return url;
}

function refuse(reason: string): never {
  throw new TargetRefused(reason);
}

/** Reads `host:port` entries in the way in which URLs are read, so that both sides of the comparison are normal. */
export function allowedHosts(entries: readonly string[]): AllowedHosts {
  const known = new Set(entries.map((entry) => pair(new URL(`http://${entry}`))));
  return { has: (hostname, port) => known.has(`${hostname} ${port}`) };
}

function pair(url: URL): string {
  return `${hostnameOf(url)} ${effectivePort(url)}`;
}

export function effectivePort(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** The host as sockets want it (`::1`), or as URLs want it (`[::1]`). */
export function hostnameOf(url: URL, style: 'bare' | 'bracketed' = 'bare'): string {
  return style === 'bracketed' ? url.hostname : url.hostname.replace(/^\[|\]$/g, '');
}

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

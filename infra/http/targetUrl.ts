/** URLs are parsed once by the WHATWG parser; only the parsed object is used afterwards (FETCH-3). */
import { isIP } from 'node:net';
import { isPublicAddress, isPublicName } from './publicAddress.ts';

export interface AllowedHosts {
  has(hostname: string, port: number): boolean;
}

/** Thrown for an address that is never allowed, whatever answers there: a retry is pointless. */
export class TargetRefused extends Error {}

const MAX_URL_LENGTH = 4_096;
const OPEN_PORTS = [80, 443];

/** Throws TargetRefused with the reason, for the log, for a URL that is not allowed. */
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

/** Parses `host:port` entries like URLs, so that both sides of the comparison are normalized. */
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

/** Host in the form of sockets (`::1`) or of URLs (`[::1]`). */
export function hostnameOf(url: URL, style: 'bare' | 'bracketed' = 'bare'): string {
  return style === 'bracketed' ? url.hostname : url.hostname.replace(/^\[|\]$/g, '');
}

/** True for a URL that is always refused; addresses of names are checked at the fetch. */
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

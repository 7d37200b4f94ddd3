/** Parses OLLAMA_HOST as Ollama's programs do. */
import { isIP } from 'node:net';

const PORT = '11434';
export const DEFAULT_OLLAMA = `http://127.0.0.1:${PORT}`;

/** The hosted service needs an account: it is never used automatically. */
const HOSTED = '.ollama.com';

/**
 * `[scheme://]host[:port][/path]`, all optional. Defaults: 127.0.0.1 and 11434 (80 with http://, 443 with https://),
 * also for an invalid port. A listen address (0.0.0.0) becomes 127.0.0.1. Returned without a final slash; undefined for
 * an address that no client can reach.
 */
export function ollamaAddress(variable: string): string | undefined {
  const given = variable.trim().replace(/^["']+|["']+$/g, '');
  const [scheme, rest] = given.includes('://') ? cut(given, '://') : ['http', given];
  if (scheme !== 'http' && scheme !== 'https') return undefined;
  const [authority, path] = cut(rest, '/');
  const usualPort = !given.includes('://') ? PORT : scheme === 'http' ? '80' : '443';
  const { host, port } = split(authority, usualPort);
  const reachable = { '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const address = `${scheme}://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}/${path}`;
  if (!URL.canParse(address) || `.${new URL(address).hostname}`.endsWith(HOSTED)) return undefined;
  return address.replace(/\/+$/, '');
}

function cut(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)];
}

function split(authority: string, usualPort: string): { host: string; port: string } {
  const found = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(authority);
  if (!found) return { host: authority.replace(/^\[|\]$/g, ''), port: usualPort };
  const [, bracketed, plain = '', port = ''] = found;
  const isPort = /^\d{1,5}$/.test(port) && Number(port) <= 65_535;
  return { host: bracketed ?? plain, port: isPort ? port : usualPort };
}

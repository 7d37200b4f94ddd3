/**
 * Decides who may read metrics and the state of each part: callers on this machine, and holders of the metrics token.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import type { TrustedProxies } from './trustedProxies.ts';

type Request = Pick<IncomingMessage, 'socket' | 'headers'>;
export type MonitorAccess = (request: Request) => boolean;

export interface MonitorAccessOptions {
  /** `FAREBOX_METRICS_TOKEN`; without it no header grants access. */
  token?: string | undefined;
  proxies: TrustedProxies;
}

export function createMonitorAccess({ token, proxies }: MonitorAccessOptions): MonitorAccess {
  const wanted = token === undefined ? undefined : digest(`Bearer ${token}`);
  return (request) => {
    if (isOnThisMachine(request, proxies)) return true;
    const sent = request.headers.authorization;
    return wanted !== undefined && sent !== undefined && timingSafeEqual(digest(sent), wanted);
  };
}

/** Headers that a proxy adds. An untrusted proxy on this machine relays callers from anywhere. */
const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'];

function isOnThisMachine(request: Request, proxies: TrustedProxies): boolean {
  const { socket, headers } = request;
  const isDirect = FORWARDING_HEADERS.every((name) => headers[name] === undefined);
  if (!isDirect && !proxies.trusts(socket.remoteAddress ?? '')) return false;
  const client = proxies.clientOf(request);
  return ipaddr.isValid(client) && ipaddr.process(client).range() === 'loopback';
}

/** Digests have one length, so that the comparison takes the same time for every header. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

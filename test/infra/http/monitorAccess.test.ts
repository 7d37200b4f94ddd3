import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createMonitorAccess } from '../../../infra/http/monitorAccess.ts';
import { createTrustedProxies } from '../../../infra/http/trustedProxies.ts';

const TOKEN = 'a-token-of-20-chars.';
const proxies = createTrustedProxies(['10.0.0.1', '127.0.0.2']);
const withToken = createMonitorAccess({ token: TOKEN, proxies });
const withoutToken = createMonitorAccess({ proxies });

function requestFrom(remoteAddress: string | undefined, headers: Record<string, string> = {}) {
  return { socket: { remoteAddress } as Socket, headers };
}

describe('monitor access', () => {
  it.each([
    ['IPv4 loopback', '127.0.0.1', {}],
    ['another address of loopback', '127.8.8.8', {}],
    ['IPv6 loopback', '::1', {}],
    ['IPv4 loopback in IPv6', '::ffff:127.0.0.1', {}],
    ['a caller on the host of a trusted proxy', '10.0.0.1', { 'x-forwarded-for': '127.0.0.1' }],
  ])('is open to %s without a token', (_name, address, headers) => {
    expect(withoutToken(requestFrom(address, headers))).toBe(true);
  });

  it.each([
    ['a private network', '10.9.8.7', {}],
    ['a public address', '203.0.113.9', {}],
    ['a public address behind a trusted proxy', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }],
    ['a public address behind a trusted proxy on this machine', '127.0.0.2', { 'x-forwarded-for': '203.0.113.9' }],
    ['a caller that a proxy on this machine passes on', '127.0.0.1', { 'x-forwarded-for': '127.0.0.1' }],
    ['one that it passes on with Forwarded', '127.0.0.1', { forwarded: 'for=127.0.0.1' }],
    ['one that it passes on with X-Real-IP', '127.0.0.1', { 'x-real-ip': '127.0.0.1' }],
    ['a caller that writes the header itself', '203.0.113.9', { 'x-forwarded-for': '127.0.0.1' }],
    ['a connection that is gone', undefined, {}],
  ])('is closed to %s', (_name, address, headers) => {
    expect(withoutToken(requestFrom(address, headers))).toBe(false);
    expect(withToken(requestFrom(address, headers))).toBe(false);
  });

  it('is open to every caller with the token, and to none with another value', () => {
    const from = (authorization: string) => withToken(requestFrom('203.0.113.9', { authorization }));
    expect(from(`Bearer ${TOKEN}`)).toBe(true);
    for (const wrong of [TOKEN, `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `bearer ${TOKEN}`, 'Bearer ', '']) {
      expect(from(wrong), wrong).toBe(false);
    }
  });

  it('accepts no token when none is configured', () => {
    for (const authorization of ['Bearer ', 'Bearer undefined', '']) {
      expect(withoutToken(requestFrom('203.0.113.9', { authorization }))).toBe(false);
    }
  });
});

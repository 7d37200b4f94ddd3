import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createTrustedProxies, isNetwork } from '../../../infra/http/trustedProxies.ts';

const proxies = createTrustedProxies(['10.0.0.0/8', '192.0.2.1', '2001:db8:ffff::/48', '::ffff:172.16.0.0/108']);

function clientOf(peer: string | undefined, forwarded?: string, more: Record<string, string> = {}): string {
  const headers = { ...more, ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }) };
  return proxies.clientOf({ socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage);
}

describe('the client behind a trusted proxy', () => {
  it.each<[string, string | undefined, string]>([
    ['10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['192.0.2.1', '198.51.100.7', '198.51.100.7'],
    ['172.31.0.1', '198.51.100.7', '198.51.100.7'],
    ['2001:db8:ffff::9', '2001:db8::7', '2001:db8::7'],
    // A value that the client sent is left of the value that the proxy added.
    ['10.0.0.1', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
    ['10.0.0.1', '10.9.9.9, 198.51.100.7', '198.51.100.7'],
    ['10.0.0.1', 'rubbish, , 198.51.100.7', '198.51.100.7'],
    // Several proxies in sequence.
    ['10.0.0.1', '203.0.113.9, 198.51.100.7, 10.0.0.2,192.0.2.1', '198.51.100.7'],
    ['10.0.0.1', '198.51.100.7\t,\t10.0.0.2', '198.51.100.7'],
    // In the formats of proxies.
    ['10.0.0.1', '198.51.100.7:5678', '198.51.100.7'],
    ['10.0.0.1', '198.51.100.7, 10.0.0.2:80', '198.51.100.7'],
    ['10.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
    ['10.0.0.1', '[2001:db8::1]', '2001:db8::1'],
    ['10.0.0.1', '2001:DB8:0::1', '2001:db8::1'],
    ['10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
    ['10.0.0.1', '198.51.100.7, [::ffff:10.0.0.2]:80', '198.51.100.7'],
    // Only trusted proxies: the first of them.
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['10.0.0.1', undefined, '10.0.0.1'],
  ])('%s with %j: %s', (peer, forwarded, client) => {
    expect(clientOf(peer, forwarded)).toBe(client);
  });

  it.each([
    '',
    ' ',
    'unknown',
    '_hidden',
    '198.51.100.7,',
    '198.51.100',
    '0x7f000001',
    '198.51.100.07',
    '198.51.100.7:x',
    '198.51.100.7:123456',
    '[2001:db8::1',
    '2001:db8::1::2',
    '"198.51.100.7"',
    'for=198.51.100.7',
    '198.51.100.7 198.51.100.8',
  ])('%j is no address: the proxy itself is the client', (forwarded) => {
    expect(clientOf('10.0.0.1', forwarded)).toBe('10.0.0.1');
    expect(clientOf('10.0.0.1', `198.51.100.7, ${forwarded}, 10.0.0.2`)).toBe('10.0.0.2');
  });

  it('is searched in the last 20 entries, and in the complete ones of the last 2,048 characters', () => {
    const hops = (count: number) => Array.from({ length: count }, (_, index) => `10.0.0.${index + 1}`).join(',');
    expect(clientOf('10.0.0.1', `198.51.100.7,${hops(19)}`)).toBe('198.51.100.7');
    expect(clientOf('10.0.0.1', `198.51.100.7,${hops(20)}`)).toBe('10.0.0.1');
    const filled = (address: string, length: number) =>
      `${address},${'10.0.0.2'.padStart(length - address.length - 1)}`;
    expect(clientOf('10.0.0.1', filled('198.51.100.7', 2_048))).toBe('198.51.100.7');
    expect(clientOf('10.0.0.1', filled('198.51.100.7', 2_049))).toBe('10.0.0.2');
    expect(clientOf('10.0.0.1', `${'x'.repeat(9_000)},198.51.100.7`)).toBe('198.51.100.7');
    expect(clientOf('10.0.0.1', 'x'.repeat(9_000))).toBe('10.0.0.1');
  });
});

it.each(['198.51.100.1', '11.0.0.1', '2001:db8::1', '::1', 'fe80::1%eth0'])('ignores the header of %s', (peer) => {
  expect(clientOf(peer, '203.0.113.9, 10.0.0.2')).toBe(peer);
  expect(proxies.trusts(peer)).toBe(false);
});

it('returns no address for a closed connection', () => {
  expect(clientOf(undefined, '203.0.113.9')).toBe('');
});

it('reads no other header', () => {
  const more = { forwarded: 'for=203.0.113.9', 'x-real-ip': '203.0.113.9', 'x-client-ip': '203.0.113.9' };
  expect(clientOf('10.0.0.1', undefined, more)).toBe('10.0.0.1');
});

it('reads no header without trusted proxies', () => {
  const request = { socket: { remoteAddress: '10.0.0.1' } } as unknown as IncomingMessage;
  expect(createTrustedProxies([]).clientOf(request)).toBe('10.0.0.1');
});

it.each<[string, boolean]>([
  ['10.0.0.1', true],
  ['10.0.0.0/8', true],
  ['::1', true],
  ['2001:db8::/32', true],
  ['::ffff:10.0.0.0/104', true],
  ['', false],
  ['10', false],
  ['10/8', false],
  ['010.0.0.0/8', false],
  ['0x0a000000/8', false],
  ['10.0.0.0/33', false],
  ['10.0.0.0/-1', false],
  ['10.0.0.0/', false],
  ['2001:db8::/129', false],
  ['[::1]', false],
  ['10.0.0.1:80', false],
  ['10.0.0.1 ', false],
  ['proxy.internal', false],
  ['*', false],
])('%j is a valid address or network: %s', (text, is) => {
  expect(isNetwork(text)).toBe(is);
});

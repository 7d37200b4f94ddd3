import { expect, test } from 'vitest';
import { checkConfiguration } from '../../infra/config/readFile.ts';
import { PROVIDERS } from '../../providers/registry.ts';
import { messageOf } from './environments.ts';

const check = (trustedProxies: unknown) => checkConfiguration(PROVIDERS, { limits: { trustedProxies } }, 'file');

test('trusts no proxy by default', () => {
  expect(checkConfiguration(PROVIDERS, {}, 'file').limits.trustedProxies).toEqual([]);
  const named = ['10.0.0.1', '10.0.0.0/8', '2001:db8::/32', '::1'];
  expect(check(named).limits.trustedProxies).toEqual(named);
});

test.each<[unknown, string]>([
  ['10.0.0.1', 'limits.trustedProxies: found "10.0.0.1", allowed: a list'],
  [
    ['10.0.0.0/8', '10.0.0.0/33'],
    'limits.trustedProxies[1]: found "10.0.0.0/33", allowed: an IP address, or a network',
  ],
  [['proxy.internal'], 'limits.trustedProxies[0]: found "proxy.internal", allowed: an IP address'],
  [
    Array.from({ length: 101 }, () => '::1'),
    'limits.trustedProxies: found a list of 101, allowed: at most 100 entries',
  ],
])('refuses %j with an error that names it', (trustedProxies, expected) => {
  expect(messageOf(() => check(trustedProxies))).toContain(expected);
});

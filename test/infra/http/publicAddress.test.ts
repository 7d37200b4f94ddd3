import { expect, it } from 'vitest';
import { isPublicAddress, isPublicName } from '../../../infra/http/publicAddress.ts';
import { PUBLIC_ADDRESSES } from './vectors.ts';

it('accepts ordinary public addresses', () => {
  for (const address of PUBLIC_ADDRESSES) expect(isPublicAddress(address), address).toBe(true);
});

it('accepts an address in its plain form only', () => {
  for (const text of [
    '',
    'x',
    '8.8.8',
    '08.8.8.8',
    '0x08080808',
    '8.8.8.8 ',
    '[2606::1]',
    '2606::1%eth0',
    '::8.8.8.8',
    '::ffff:8.8.8.8',
  ]) {
    expect(isPublicAddress(text), text).toBe(false);
  }
});

it('refuses internal names, and accepts public names', () => {
  for (const name of ['localhost', 'localhost.', 'a.localhost', 'db', 'x.internal', 'x.local', ''])
    expect(isPublicName(name), name).toBe(false);
  for (const name of ['example.com', 'a.b.example.', 'localhost.example.com', 'internal.example.com'])
    expect(isPublicName(name), name).toBe(true);
});

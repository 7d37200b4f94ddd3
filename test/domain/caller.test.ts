import { describe, expect, it } from 'vitest';
import { KEY_TYPES, keyScopeOf } from '../../domain/caller.ts';
import { formatSecret, looksLikeSecret } from '../../domain/keySecret.ts';

describe('the part of an account that a caller sees', () => {
  it.each([
    ['an ADMIN key', { keyId: 'key-1', keyType: 'ADMIN' }, null],
    ['an INFERENCE key', { keyId: 'key-1', keyType: 'INFERENCE' }, 'key-1'],
    ['a wallet', { keyId: null, keyType: 'INFERENCE' }, null],
  ] as const)('depends on the key: %s', (_who, caller, scope) => {
    expect(keyScopeOf(caller)).toBe(scope);
  });
});

describe('the secret of a key', () => {
  const random = Uint8Array.from({ length: 32 }, (_, index) => 255 - index * 7);

  it.each(KEY_TYPES)('names the type %s, and contains every random bit', (type) => {
    const secret = formatSecret(type, random);
    expect(secret.startsWith(`FAREBOX_${type}_KEY_`)).toBe(true);
    expect(Buffer.from(secret.slice(`FAREBOX_${type}_KEY_`.length), 'base64url')).toEqual(Buffer.from(random));
    expect(looksLikeSecret(secret)).toBe(true);
  });

  const secret = formatSecret('INFERENCE', random);
  it.each([
    ['nothing', ''],
    ['the prefix alone', 'FAREBOX_INFERENCE_KEY_'],
    ['a lost character', secret.slice(0, -1)],
    ['a character too many', `${secret}A`],
    ['a line feed behind it', `${secret}\n`],
    ['a space before it', ` ${secret}`],
    ['another service', secret.replace('FAREBOX', 'ACME')],
    ['another type', secret.replace('INFERENCE', 'ROOT')],
    ['lower case', secret.toLowerCase()],
    ['the padding of base64', `${secret.slice(0, -1)}=`],
    ['the other alphabet of base64', `${secret.slice(0, -1)}+`],
  ])('is not recognised in %s', (_what, text) => {
    expect(looksLikeSecret(text)).toBe(false);
  });
});

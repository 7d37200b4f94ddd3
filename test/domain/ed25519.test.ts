/** Signatures and keys that strict Ed25519 verification refuses, whatever a library accepts. */
import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isLargeOrderPoint, isStrictEd25519 } from '../../domain/ed25519.ts';

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const PRIME = 2n ** 255n - 19n;
const MESSAGE = Buffer.from('a message');

function toBytes(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
}

function fromBytes(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}

function rawKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
}

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const key = rawKey(publicKey);
const signature = sign(null, MESSAGE, privateKey);

/** Source: "Taming the many EdDSAs", table 1. The last six are alternative encodings of points of small order. */
const SMALL_ORDER = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '0000000000000000000000000000000000000000000000000000000000000000',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  '0100000000000000000000000000000000000000000000000000000000000080',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
];

describe('a signature', () => {
  it('of an ordinary key is strict', () => {
    expect(verify(null, MESSAGE, publicKey, signature)).toBe(true);
    expect(isStrictEd25519(key, signature)).toBe(true);
  });

  it('of a hundred other keys is strict', () => {
    for (let count = 0; count < 100; count += 1) {
      const pair = generateKeyPairSync('ed25519');
      const made = sign(null, Buffer.from([count]), pair.privateKey);
      expect(isStrictEd25519(rawKey(pair.publicKey), made)).toBe(true);
    }
  });

  it.each([1n, 2n, 7n])('with %d times the group order added to its scalar is refused', (times) => {
    const scalar = fromBytes(signature.subarray(32)) + times * ORDER;
    const second = Buffer.concat([signature.subarray(0, 32), toBytes(scalar)]);
    expect(isStrictEd25519(key, second)).toBe(false);
  });

  it.each([0, 1, 32, 63, 65, 128])('of %i bytes is refused', (length) => {
    const cut = Buffer.concat([signature, signature]).subarray(0, length);
    expect(isStrictEd25519(key, cut)).toBe(false);
  });

  it.each(SMALL_ORDER)('with the point %s of small order as nonce or key is refused', (hex) => {
    const point = Buffer.from(hex, 'hex');
    expect(isStrictEd25519(key, Buffer.concat([point, signature.subarray(32)]))).toBe(false);
    expect(isStrictEd25519(point, signature)).toBe(false);
  });
});

describe('a point', () => {
  it.each([
    ['of 31 bytes', Buffer.alloc(31, 2)],
    ['of 33 bytes', Buffer.alloc(33, 2)],
    ['whose coordinate is the prime', toBytes(PRIME)],
    ['whose coordinate is above the prime', toBytes(PRIME + 2n)],
    ['whose coordinate is the largest number', Buffer.alloc(32, 255)],
  ])('%s is refused', (_what, point) => {
    expect(isLargeOrderPoint(point)).toBe(false);
  });

  it('just below the prime is accepted, with either sign', () => {
    const point = toBytes(PRIME - 3n);
    expect(isLargeOrderPoint(point)).toBe(true);
    point.writeUInt8(point.readUInt8(31) | 0x80, 31);
    expect(isLargeOrderPoint(point)).toBe(true);
  });
});

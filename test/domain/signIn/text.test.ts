import { ParsedMessage } from '@signinwithethereum/siwe-parser';
import fc from 'fast-check';
import { getAddress } from 'viem';
import { describe, expect, test } from 'vitest';
import { bytesOfBase58 } from '../../../domain/base58.ts';
import { readDateTime } from '../../../domain/signIn/grammar.ts';
import { SignInRefused } from '../../../domain/signIn/refused.ts';
import { parseSignInText, type SignInFields, writeSignInText } from '../../../domain/signIn/text.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../harness/stall.ts';
import { EVM_ADDRESS, EVM_TEXT, SOLANA_ADDRESS, SOLANA_GENESIS, SOLANA_TEXT } from './samples.ts';

const RUNS = process.env.FAREBOX_TEST_LONG === '1' ? 100_000 : 4_000;

const uri = fc.constantFrom(
  ...['https://api.example.com/', 'https://api.example.com:8443/a%20b?c=d&e#f', 'urn:isbn:0486275574'],
  ...['http://[::1]:8080/x', 'did:key:z6Mk', 'https://user@api.example.com/;p=1/:@!$&()*+,'],
);
const time = fc
  .date({ min: new Date(0), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString());
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const wordCharacter = fc.constantFrom(...'abcXYZ019-._~!$&()*+,;=:@/?#[] '.split(''));

const fields: fc.Arbitrary<SignInFields> = fc
  .record({
    family: fc.constantFrom('evm', 'solana'),
    domain: fc.constantFrom('api.example.com', '127.0.0.1:8080', 'https://api.example.com', '[::1]:80', 'a/b'),
    address: fc.constant(''),
    statement: optional(fc.string({ unit: wordCharacter, minLength: 1, maxLength: 40 })),
    uri,
    chain: fc.constant(''),
    nonce: fc.stringMatching(/^[A-Za-z0-9]{8,20}$/),
    issuedAt: time,
    expirationTime: optional(time),
    notBefore: optional(time),
    requestId: optional(fc.stringMatching(/^[A-Za-z0-9:@!-]{1,12}$/)),
    resources: optional(fc.array(uri, { maxLength: 4 })),
    isSpaced: fc.boolean(),
  })
  .map((made) => {
    const isEvm = made.family === 'evm';
    return {
      ...made,
      address: isEvm ? EVM_ADDRESS : SOLANA_ADDRESS,
      chain: isEvm ? '8453' : SOLANA_GENESIS,
      isSpaced: isEvm || made.statement !== undefined || made.isSpaced,
    } as SignInFields;
  });

describe('the text of a sign-in', () => {
  test('is parsed to the values that it was written from', () => {
    fc.assert(
      fc.property(fields, (made) => {
        expect(parseSignInText(writeSignInText(made))).toEqual(made);
      }),
      { numRuns: RUNS / 4 },
    );
  });

  test('is refused after any change, or parsed to the changed values', () => {
    const spoiled = fc.record({
      made: fields,
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      take: fc.integer({ min: 0, max: 12 }),
      put: fc.oneof(
        fc.constantFrom('', '\n', '\r\n', ' ', '\u0000', '\n\n', ': ', '\nNonce: 12345678', '\u00a0', 'Z', '0', '@'),
        fc.string({ maxLength: 3 }),
      ),
    });
    fc.assert(
      fc.property(spoiled, ({ made, at, take, put }) => {
        const text = writeSignInText(made);
        const index = Math.floor(at * text.length);
        expectSound(text.slice(0, index) + put + text.slice(index + take));
      }),
      { numRuns: RUNS },
    );
  });

  test('is refused with lines in any other order or number', () => {
    const lines = [...EVM_TEXT.split('\n'), 'Not Before: 2026-03-01T11:00:00Z', 'Request ID: a', 'Resources:'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...lines), { minLength: 8, maxLength: 16 }), (some) => {
        expectSound(some.join('\n'));
      }),
      { numRuns: RUNS },
    );
    fc.assert(
      fc.property(fc.shuffledSubarray(lines, { minLength: lines.length - 2 }), (some) => {
        expectSound(some.join('\n'));
      }),
      { numRuns: RUNS },
    );
  });

  test('is refused quickly for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        expectSound(text);
      }),
      { numRuns: RUNS },
    );
    const startMs = ranMs();
    for (const filler of ['a', '/', '%41', '%', ':', '@', '[', '.', '0.', '[:', '://', ' ', '\n', '- a:b\n']) {
      const long = filler.repeat(4_000 / filler.length);
      for (const place of ['api.example.com', 'Sign in to Farebox', 'https://api.example.com/api/v1/models', '8453']) {
        expectSound(EVM_TEXT.replace(place, long));
        expectSound(SOLANA_TEXT.replace(place, `https://${long}`));
      }
      expectSound(`${EVM_TEXT}\nResources:\n- x:${long}`);
    }
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });
});

test('contains base58 with one spelling for each length', () => {
  expect(bytesOfBase58(SOLANA_ADDRESS, 32)).toHaveLength(32);
  expect(bytesOfBase58('1'.repeat(32), 32)).toEqual(new Uint8Array(32));
  expect(bytesOfBase58('', 0)).toEqual(new Uint8Array(0));
  expect([...(bytesOfBase58('112', 3) ?? [])]).toEqual([0, 0, 1]);
  for (const wrong of ['', '1'.repeat(31), '1'.repeat(33), `1${SOLANA_ADDRESS}`, `${SOLANA_ADDRESS}1`]) {
    expect(bytesOfBase58(wrong, 32)).toBeUndefined();
  }
  for (const strange of ['0', 'O', 'I', 'l', ' ', '\u00e9', '\u{1F600}']) {
    expect(bytesOfBase58(SOLANA_ADDRESS.slice(1) + strange, 32)).toBeUndefined();
  }
  expect(bytesOfBase58('z'.repeat(1_000_000), 32)).toBeUndefined();
});

test.each<[string, number | undefined]>([
  ['1970-01-01T00:00:00Z', 0],
  ['1970-01-01T01:00:00+01:00', 0],
  ['1970-01-01T00:00:00-00:30', 1_800_000],
  ['2024-02-29T12:30:45.1Z', Date.parse('2024-02-29T12:30:45.100Z')],
  ['2024-02-29T12:30:45.123999999Z', Date.parse('2024-02-29T12:30:45.123Z')],
  ['2000-02-29T00:00:00Z', Date.parse('2000-02-29T00:00:00Z')],
  ['2100-02-29T00:00:00Z', undefined],
  ['9999-12-31T23:59:59.999Z', 253_402_300_799_999],
  ['10000-01-01T00:00:00Z', undefined],
])('%s is an RFC 3339 time: %s', (text, ms) => {
  expect(readDateTime(text)).toBe(ms);
});

/** Expects a refusal, or that the reference parser of EIP-4361 reads the same values. */
function expectSound(text: string): void {
  let read: SignInFields;
  try {
    read = parseSignInText(text);
  } catch (error) {
    expect(error).toBeInstanceOf(SignInRefused);
    return;
  }
  expect(writeSignInText(read)).toBe(text);
  // The reference parser does not know Solana, a missing or differently spelled chain, or a path after the domain, and
  // it counts the groups of an IPv6 address.
  const isPlain = /^(?:https?:\/\/)?[a-z0-9.-]+(?::\d+)?$/i.test(read.domain) && /^\d+$/.test(read.chain ?? '');
  if (read.family !== 'evm' || !isPlain || text.includes('[')) return;
  // The reference parser requires a checksum address. Our signature check accepts any case.
  const other = new ParsedMessage(text.replace(read.address, getAddress(read.address)));
  const { statement, uri: target, nonce, issuedAt, expirationTime, notBefore, requestId, resources } = read;
  expect(other).toMatchObject({ uri: target, nonce, issuedAt, address: getAddress(read.address) });
  expect([other.statement, other.expirationTime, other.notBefore, other.requestId]).toEqual([
    ...[statement, expirationTime, notBefore, requestId],
  ]);
  expect(other.resources ?? []).toEqual(resources ?? []);
}

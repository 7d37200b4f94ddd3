import { describe, expect, test } from 'vitest';
import { MAX_HEADER_JSON_LENGTH } from '../../../domain/headerJson.ts';
import { readPayload } from '../../../domain/signIn/payload.ts';
import { SignInRefused } from '../../../domain/signIn/refused.ts';
import {
  MAX_AGE_MS,
  MAX_AHEAD_MS,
  REMEMBERED_MS,
  readSignIn,
  type SignInRules,
  signedTexts,
  type UnverifiedSignIn,
} from '../../../domain/signIn/rules.ts';
import * as samples from './samples.ts';
import { encode, NOW_MS, RULES, type Sent } from './samples.ts';

const checksummed = () => samples.EVM_ADDRESS;

function readIn(header: string, rules: SignInRules): UnverifiedSignIn {
  return readSignIn(readPayload(header), rules);
}

const FORMS: Record<string, Sent> = {
  'evm, with the text': samples.evmMessage(),
  'evm, fields only': samples.EVM_FIELDS,
  'Solana, with the text': samples.solanaMessage(),
  'Solana, fields only': samples.SOLANA_FIELDS,
};

describe('the four forms of a valid sign-in', () => {
  test.each(Object.entries(FORMS))('%s', (name, sent) => {
    const read = readIn(encode(sent), RULES);
    const isEvm = name.startsWith('evm');
    expect(read).toMatchObject({
      wallet: isEvm
        ? { family: 'evm', address: samples.EVM_ADDRESS.toLowerCase() }
        : { family: 'solana', address: samples.SOLANA_ADDRESS },
      network: RULES.networks[isEvm ? 0 : 1],
      nonce: '0123456789abcdef',
      rememberUntilMs: NOW_MS + 330_000,
      signedBy: undefined,
    });
    const text = isEvm ? samples.EVM_TEXT : samples.SOLANA_TEXT;
    expect(signedTexts(read, checksummed)).toEqual([text]);
  });

  test('allow a header without padding', () => {
    for (const extra of ['', 'a', 'ab']) {
      const header = encode({ ...samples.EVM_FIELDS, extra });
      expect(readIn(header.replace(/=+$/, ''), RULES).nonce).toBe('0123456789abcdef');
    }
  });

  test('treat null like an absent field', () => {
    const sent = { ...samples.EVM_FIELDS, requestId: null, resources: null, notBefore: null, type: null };
    expect(readIn(encode(sent), RULES).fields.requestId).toBeUndefined();
  });
});

describe('the rebuilt text in every known layout', () => {
  const { statement: _, ...bare } = samples.SOLANA_FIELDS;
  const twoLines = samples.SOLANA_TEXT.replace('Sign in to Farebox\n', '');
  const oneLine = samples.SOLANA_TEXT.replace('Sign in to Farebox\n\n', '');

  test('has one or two blank lines for Solana without a statement, as sent', () => {
    for (const text of [oneLine, twoLines]) {
      expect(signedTexts(readIn(encode(samples.solanaMessage(text)), RULES), checksummed)).toEqual([text]);
    }
    expect(signedTexts(readIn(encode(bare), RULES), checksummed)).toEqual([oneLine, twoLines]);
  });

  test('has two blank lines for EVM without a statement', () => {
    const text = samples.EVM_TEXT.replace('Sign in to Farebox\n', '');
    expect(signedTexts(readIn(encode(samples.evmMessage(text)), RULES), checksummed)).toEqual([text]);
    const { statement: _, ...sent } = samples.EVM_FIELDS;
    expect(signedTexts(readIn(encode(sent), RULES), checksummed)).toEqual([text]);
  });

  test('keeps a statement that looks like a field', () => {
    const text = samples.EVM_TEXT.replace('Sign in to Farebox', 'URI: https://evil.test/');
    expect(readIn(encode(samples.evmMessage(text)), RULES).fields).toMatchObject({
      statement: 'URI: https://evil.test/',
      uri: 'https://api.example.com/api/v1/models',
    });
  });

  test('keeps every optional line, and the spelling of the address', () => {
    const lower = samples.EVM_ADDRESS.toLowerCase();
    const text = `${samples.EVM_TEXT.replace(samples.EVM_ADDRESS, lower)}
Not Before: 2026-03-01T11:59:00+00:00
Request ID: order-7
Resources:
- https://api.example.com/a?b=c#d
- urn:isbn:0-486-27557-4`;
    const read = readIn(encode(samples.evmMessage(text)), RULES);
    expect(signedTexts(read, checksummed)).toEqual([text]);
    expect(read.wallet.address).toBe(lower);
    const { domain, uri, statement, nonce, issuedAt, expirationTime } = samples.EVM_FIELDS;
    const sent = {
      ...{ domain, uri, statement, nonce, issuedAt, expirationTime, address: lower, chainId: 'eip155:8453' },
      ...{ notBefore: '2026-03-01T11:59:00+00:00', requestId: 'order-7', signature: '0x' },
      resources: ['https://api.example.com/a?b=c#d', 'urn:isbn:0-486-27557-4'],
    };
    const texts = signedTexts(readIn(encode(sent), RULES), checksummed);
    expect(texts).toEqual([text.replace(lower, samples.EVM_ADDRESS), text]);
  });
});

describe('the time window in milliseconds', () => {
  const at = (ms: number, rules: Partial<SignInRules> = {}) => ({ ...RULES, nowMs: NOW_MS + ms, ...rules });
  const lasting: Sent = { ...samples.EVM_FIELDS, expirationTime: undefined };
  const from = (time: string): Sent => ({ ...lasting, notBefore: time });
  const until = (time: string): Sent => ({ ...lasting, expirationTime: time });
  const stamped = (ms: number): Sent => ({ ...lasting, timestamp: NOW_MS + ms });

  test.each<[string, Sent, number, string | undefined]>([
    ['5 minutes old', lasting, 300_000, undefined],
    ['1 ms more than 5 minutes old', lasting, 300_001, 'EXPIRED'],
    ['30 seconds ahead', lasting, -30_000, undefined],
    ['1 ms more than 30 seconds ahead', lasting, -30_001, 'FUTURE_TIMESTAMP'],
    ['1 ms before its expiration', until('2026-03-01T12:00:01.500Z'), 1_499, undefined],
    ['at its expiration', until('2026-03-01T12:00:01.500Z'), 1_500, 'EXPIRED'],
    ['1 ms after its expiration', until('2026-03-01T12:00:01.500Z'), 1_501, 'EXPIRED'],
    ['expired before it was issued', until('2026-03-01T11:00:00Z'), 0, 'EXPIRED'],
    ['1 ms before it begins', from('2026-03-01T12:00:01.500Z'), 1_499, 'NOT_BEFORE'],
    ['when it begins', from('2026-03-01T12:00:01.500Z'), 1_500, undefined],
    ['begins in another zone', from('2026-03-01T14:00:01.500+02:00'), 1_499, 'NOT_BEFORE'],
    ['has begun in another zone', from('2026-03-01T07:30:00.000-04:30'), 0, undefined],
    ['timestamp 30 seconds after', stamped(30_000), 0, undefined],
    ['timestamp 1 ms too late', stamped(30_001), 0, 'TIMESTAMP_MISMATCH'],
    ['timestamp 30 seconds before', stamped(-30_000), 0, undefined],
    ['timestamp 1 ms too early', stamped(-30_001), 0, 'TIMESTAMP_MISMATCH'],
  ])('%s', (_, sent, ms, code) => {
    expect(codeOf(sent, at(ms))).toBe(code);
  });

  test('stores a nonce for as long as its message may be accepted', () => {
    // Accepted from 30 s before to 5 min after its issue, and stored until 30 s after that.
    expect(REMEMBERED_MS).toBe(MAX_AGE_MS + 30_000);
    for (const ms of [-MAX_AHEAD_MS, 0, MAX_AGE_MS]) {
      expect(readIn(encode(lasting), at(ms)).rememberUntilMs).toBe(NOW_MS + MAX_AGE_MS + 30_000);
    }
    expect(codeOf(lasting, at(MAX_AGE_MS + 1))).toBe('EXPIRED');
  });
});

describe('the header', () => {
  const good = JSON.stringify(samples.EVM_FIELDS);
  const base64 = (text: string | Uint8Array) => Buffer.from(text).toString('base64');
  const long = (length: number) => {
    const rest = good.slice(0, -1);
    return base64(`${rest},"x":"${'x'.repeat((length * 3) / 4 - rest.length - 8)}"}`);
  };

  test('accepts at most 8 kB', () => {
    expect(long(MAX_HEADER_JSON_LENGTH)).toHaveLength(8_192);
    expect(codeOfHeader(long(MAX_HEADER_JSON_LENGTH))).toBeUndefined();
    expect(codeOfHeader(`${long(MAX_HEADER_JSON_LENGTH)}=`)).toBe('PARSE_ERROR');
    expect(codeOfHeader(long(MAX_HEADER_JSON_LENGTH + 4))).toBe('PARSE_ERROR');
  });

  const marked = base64(good.replace('Sign in', 'S>?>?>?>?~~~ign'));
  test.each<[string, string]>([
    ['nothing', ''],
    ['the alphabet of URLs', marked.replaceAll('+', '-').replaceAll('/', '_')],
    ['a line feed in it', `${base64(good).slice(0, 40)}\n${base64(good).slice(40)}`],
    ['a blank behind it', `${base64(good)} `],
    ['a character too many', 'A'.repeat(61)],
    ['padding too long', `${base64(`${good}${' '.repeat((3 - (good.length % 3)) % 3)}`)}=`],
    ['padding in the middle', `${base64('{"a":1')}=${base64(good)}`],
    ['bits behind the last byte', 'e31='],
    ['JSON as it is', good],
    ['no UTF-8', base64(new Uint8Array([0x22, 0xff, 0x22]))],
    ['a surrogate written in UTF-8', base64(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]))],
    ['a byte order mark', base64(`\ufeff${good}`)],
    ['no JSON', base64('sign me in')],
    ['JSON with something behind it', base64(`${good}x`)],
    ['a comma too many', base64(good.replace('}', ',}'))],
    ['a name twice', base64(good.replace('{', '{"domain":"evil.test",'))],
    ['a name twice, once escaped', base64(good.replace('{', '{"d\\u006fmain":"evil.test",'))],
    ['a name twice further inside', base64(good.replace('{', '{"x":{"y":1,"y":1},'))],
    ['nine levels', base64(good.replace('{', '{"x":[[[[[[[[]]]]]]]],'))],
    ['8,000 levels', base64('['.repeat(6_000))],
    ['257 names', base64(`{${Array.from({ length: 257 }, (_, index) => `"${index}":0`)}}`)],
  ])('is not a sign-in: %s', (_, header) => {
    expect(codeOfHeader(header)).toBe('PARSE_ERROR');
  });

  test.each(['null', '[]', '"x"', '7', '{}'])('is JSON but not a sign-in: %s', (json) => {
    expect(codeOfHeader(base64(json))).toBe('INVALID_PAYLOAD');
  });

  test('treats names of object members as plain names', () => {
    expect(codeOfHeader(base64(good.replace('{', '{"__proto__":{"domain":"x"},')))).toBeUndefined();
    expect(codeOfHeader(base64('{"__proto__":{"domain":"x"}}'))).toBe('INVALID_PAYLOAD');
  });
});

function codeOf(sent: Sent, rules: SignInRules): string | undefined {
  return codeOfHeader(encode(sent), rules);
}

function codeOfHeader(header: string, rules: SignInRules = RULES): string | undefined {
  try {
    readIn(header, rules);
    return undefined;
  } catch (error) {
    if (error instanceof SignInRefused) return error.code.replace('X402_SIGN_IN_', '');
    throw error;
  }
}

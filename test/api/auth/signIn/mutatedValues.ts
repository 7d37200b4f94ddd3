/**
 * Expected codes of a valid sign-in with one change, written by hand and without the common prefix of all codes. A
 * change that stays well-formed and allowed gives INVALID_SIGNATURE.
 */
import { type Form, GENESIS, SOLANA } from '../../../harness/signIns.ts';

/** `undefined` leaves a field out. A function gets the previous value. */
export type Value = unknown | ((before: string) => unknown);

const S = 'INVALID_SIGNATURE';
const M = 'INVALID_MESSAGE';
const P = 'INVALID_PAYLOAD';
const D = 'DOMAIN_MISMATCH';
const N = 'MISSING_NONCE';
const C = 'INVALID_CHAIN_ID';
const X = 'CHAIN_MISMATCH';
const U = 'UNSUPPORTED_CHAIN';
const W = 'INVALID_WALLET';
const A = 'ADDRESS_MISMATCH';
const T = 'TIMESTAMP_MISMATCH';

/** Pairs of a changed value and its expected code. */
export type Values = readonly (readonly [Value, string])[];

/** Strings for both the fields and the lines of the text. Control characters are listed below. */
export const SHARED: Record<string, { line: string; values: Values }> = {
  domain: {
    line: 'domain',
    values: [
      ...[...['evil.test', 'api.example.com.evil.test', 'evil-api.example.com', 'example.com']].map(bad(D)),
      ...['api.example.com.', '.api.example.com', 'pi.example.com', 'apiXexample.com', 'localhost'].map(bad(D)),
      ...['api.example.com@evil.test', 'api.example.com:443@evil.test', 'x@api.example.com'].map(bad(D)),
      ...['evil.test/api.example.com', 'https://evil.test', 'ftp://api.example.com'].map(bad(D)),
      ...['api%2Eexample.com', '//api.example.com', 'xn--pi-7kc.example.com', '[::1]', '127.1'].map(bad(D)),
      ...['evil.test#api.example.com', 'api.example.com?x', 'api.example.com\\evil.test'].map(bad(M)),
      ...['\u0430pi.example.com', 'api.example.com\u00ad', 'api.example.com%', 'a'.repeat(301)].map(bad(M)),
      ...['API.example.com', 'api.example.com:8443', 'https://api.example.com', '127.0.0.1'].map(bad(S)),
      ['api.example.com/path', S],
    ],
  },
  uri: {
    line: 'URI',
    values: [
      ...['https://api.example.com.evil.test/', 'https://api.example.com@evil.test/'].map(bad(D)),
      ...['https://evil.test/?https://api.example.com/', 'https://evil.test#https://api.example.com/'].map(bad(D)),
      ...['https://evil.test/https://api.example.com/', 'http:api.example.com', 'https:///api.example.com'].map(bad(D)),
      ...['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'ftp://api.example.com/'].map(bad(D)),
      ...['https://api.example.com:/../@evil.test', 'https://x@api.example.com/', 'https://api.example.com./'].map(
        bad(D),
      ),
      ...['https://%61pi.example.com/', 'https://evil.test', 'ws://api.example.com/', 'urn:x'].map(bad(D)),
      ...['//api.example.com/', '/api/v1', 'api.example.com', 'https://api.example.com/a b'].map(bad(M)),
      ...[
        'https://api.example.com/\\evil',
        'https://api.example.com:80:80/',
        'https://api.example.com/%zz',
        'https://api.example.com/"',
      ].map(bad(M)),
      ...['https://api.example.com/\u00e9', 'https://api.example.com/#a#b', ' https://api.example.com/'].map(bad(M)),
      [`https://api.example.com/${'a'.repeat(2_025)}`, M],
      ...['https://api.example.com/other', 'https://api.example.com', 'http://api.example.com/'].map(bad(S)),
      ...['HTTPS://API.EXAMPLE.COM/', 'https://api.example.com:8443/', 'https://127.0.0.1/'].map(bad(S)),
    ],
  },
  statement: {
    line: 'statement',
    values: [
      ...['say "yes"', '<b>', '100%', 'caf\u00e9', 'a\u0000b', 'a\tb', 'a\u007fb', 'a|b', '{}'].map(bad(M)),
      ...['a\u2028b', '\u202egnis', 'x'.repeat(1_025)].map(bad(M)),
      ...['Sign in to Farebox ', ' Sign in to Farebox', 'sign in to Farebox', 'Pay 100 USD', 'URI: x:y'].map(bad(S)),
    ],
  },
  nonce: {
    line: 'Nonce',
    values: [
      ['', N],
      ...[
        '1234567',
        'abcdefg_',
        '0123456 9',
        '0123456789abcdef ',
        '\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668',
      ].map(bad(M)),
      ...['a'.repeat(129), '01234567-89ab-cdef'].map(bad(M)),
      ...['0123456789abcdef', 'abcdefgh', '0x123456789abc', 'A'.repeat(128)].map(bad(S)),
      [(before: string) => before.toUpperCase().replace(/\d/, 'f'), S],
      [(before: string) => `${before}0`, S],
    ],
  },
  issuedAt: {
    line: 'Issued At',
    values: [
      ...['1700000000', '1772366400000', 'now', 'Sun, 01 Mar 2026 12:00:00 GMT', '2026-03-01'].map(bad(M)),
      ...['2026-02-30T00:00:00Z', '2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z'].map(bad(M)),
      ...['2026-03-01T24:00:00Z', '2026-03-01T12:60:00Z', '2026-03-01T12:00:60Z', '2026-03-00T12:00:00Z'].map(bad(M)),
      ...['2026-03-01 12:00:00Z', '2026-03-01T12:00:00', '2026-03-01t12:00:00z', '+2026-03-01T12:00:00Z'].map(bad(M)),
      ...['2026-03-01T12:00:00+24:00', '2026-03-01T12:00:00.Z', '2026-3-1T12:00:00Z', 'NaN', '1e12'].map(bad(M)),
      ...['2026-03-01T12:00:00.0000000001Z', '1969-12-31T23:59:59Z', '2026-04-31T00:00:00Z'].map(bad(M)),
    ],
  },
  expirationTime: {
    line: 'Expiration Time',
    values: [
      ...['never', '1772366400', '9999-99-99T00:00:00Z', '2026-03-01T12:00Z'].map(bad(M)),
      ...['1970-01-01T00:00:00Z', '2020-01-01T00:00:00.000Z', '2024-02-29T00:00:00+23:59'].map(bad('EXPIRED')),
      ...['2099-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'].map(bad(S)),
    ],
  },
};

/** Values that only fields can have. */
export const FIELDS: Record<string, Values> = {
  domain: [undefined, null, '', 7, ['api.example.com']].map(bad(P)),
  uri: [undefined, null, '', 5, {}].map(bad(P)),
  statement: [
    ['', M],
    ['a\nb', M],
    ['a\r', M],
    [7, P],
    [undefined, S],
    [null, S],
  ],
  nonce: [
    [undefined, N],
    [null, N],
    [7, P],
    [['0123456789abcdef'], P],
    ['12345678\n', M],
  ],
  issuedAt: [...[undefined, null, '', 1_700_000_000_000, 1_700_000_000, {}].map(bad(P)), ['2026-03-01T12:00:00Z\n', M]],
  expirationTime: [
    ['', M],
    [5, P],
    [true, P],
    [undefined, S],
    [null, S],
  ],
  notBefore: [
    ['', M],
    ['x', M],
    [7, P],
    ['2099-01-01T00:00:00Z', 'NOT_BEFORE'],
    ['2020-01-01T00:00:00Z', S],
  ],
  requestId: [
    ['', M],
    ['a b', M],
    ['\u00e9', M],
    ['a\nb', M],
    ['%', M],
    ['x'.repeat(257), M],
    [7, P],
    ['order-7', S],
  ],
  resources: [
    ...['x', [7], {}, [[]], [null]].map(bad(P)),
    ...[['x'], ['https://a b'], [''], ['https://a\nNonce: 1'], Array(33).fill('urn:a')].map(bad(M)),
    [['https://evil.test/'], S],
  ],
  version: [
    ['2', M],
    ['1.0', M],
    ['01', M],
    ['', M],
    [' 1', M],
    [1, P],
    [{}, P],
  ],
  message: [
    ['api.example.com wants you to sign in', P],
    ['', P],
    [7, P],
    [{}, P],
  ],
};

/** Fields beside the text, in the form with a text. */
export const AROUND_TEXT: Record<string, Values> = {
  message: [
    ...[undefined, null, '', 7, [], {}].map(bad(P)),
    ['hello', M],
    ['\n', M],
    [(text: string) => `${text}\n`, M],
  ],
  domain: [['api.example.com', P]],
  uri: [['https://api.example.com/', P]],
  nonce: [
    ['0123456789abcdef', P],
    ['', P],
  ],
  issuedAt: [['2026-03-01T12:00:00Z', P]],
  resources: [[[], P]],
};

export const TIMESTAMP: Values = [
  ...['', 'x', '1772366400000', 1.5, -1, 1e300, 2 ** 53, true, [], {}].map(bad(P)),
  ...[0, 1, 1_772_366_400, 9_007_199_254_740_991].map(bad(T)),
];

export const HINTS = {
  type: ['eip712', 'EIP191', 'Ed25519', '', 7, [], true],
  signatureScheme: ['eip712', 'SIWS', '', 7, {}],
};

const EVM_CHAINS: Values = [
  ...['eip155:08453', 'eip155:0x2105', 'base', 'eip155:', 'eip155:8453 ', 'EIP155:8453', 'eip155:8453:1'].map(bad(C)),
  ...['eip155:-8453', 'eip155:84530000000000000000', '', 'cosmos:cosmoshub-4', [], {}, true].map(bad(C)),
  ...['solana', 'solana:mainnet', 'eip155:8453.0', 'eip155:8e3', '08453'].map(bad(C)),
];

export const BY_FORM: Record<Form, Record<string, Values>> = {
  'evm text': {
    chainId: [
      ...EVM_CHAINS,
      ...['0x2105', '-8453', '8453.0', 8453.5, -8453, 0, 2 ** 60].map(bad(C)),
      ...[1, '1', 'eip155:1', 84_532, 'eip155:84532', 8454, 2 ** 53 - 1, SOLANA].map(bad(X)),
    ],
    type: [['ed25519', X]],
    signatureScheme: [['siws', X]],
    address: [
      ...[undefined, null, '', 7].map(bad(P)),
      ...['0x0000000000000000000000000000000000000000', 'vitalik.eth', GENESIS, '0x'].map(bad(A)),
      [(before: string) => before.slice(2), A],
      [(before: string) => before.slice(0, -1), A],
      [(before: string) => `${before} `, A],
      [(before: string) => swapLast(before), A],
    ],
  },
  'evm fields': {
    chainId: [
      ...EVM_CHAINS,
      ...['8453', 8453, '0x2105'].map(bad(C)),
      ...[undefined, null].map(bad(P)),
      ...['eip155:1', 'eip155:84532', 'eip155:8454', 'eip155:10'].map(bad(U)),
      [SOLANA, M],
    ],
    type: [['ed25519', X]],
    signatureScheme: [['siws', X]],
    address: [
      ...[undefined, null, '', 7].map(bad(P)),
      ...['vitalik.eth', GENESIS, '0x', '0X19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'].map(bad(M)),
      [(before: string) => before.slice(2), M],
      [(before: string) => `${before} `, M],
      [(before: string) => swapLast(before), S],
      ['0x0000000000000000000000000000000000000000', S],
    ],
  },
  'Solana text': {
    chainId: [
      ...['solana', GENESIS, 'solana:mainnet', `SOLANA:${GENESIS}`, `solana:${GENESIS}1`, 'solana:', ''].map(bad(C)),
      ...[SOLANA.replace('5', '0'), {}, true, -1].map(bad(C)),
      ...['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'eip155:8453', 8453, 1].map(bad(X)),
    ],
    type: [undefined, null, 'eip191', 'eip1271'].map(bad(X)),
    signatureScheme: ['eip191', 'eip1271', 'eip6492'].map(bad(X)),
    address: [
      ...[undefined, null, '', 7].map(bad(P)),
      [(before: string) => before.toLowerCase(), A],
      [(before: string) => `1${before}`, A],
      ['0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A', A],
    ],
  },
  'Solana fields': {
    chainId: [
      ...['solana', GENESIS, 'solana:mainnet', `SOLANA:${GENESIS}`, `solana:${GENESIS}1`, 'solana:', ''].map(bad(C)),
      ...[SOLANA.replace('5', '0'), {}, true, 8453, '8453'].map(bad(C)),
      ...[undefined, null].map(bad(P)),
      ...['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z'].map(bad(U)),
      [SOLANA.replace('5', '6'), U],
      ['eip155:8453', M],
    ],
    type: ['eip191', 'eip1271'].map(bad(X)),
    signatureScheme: ['eip191', 'eip1271', 'eip6492'].map(bad(X)),
    address: [
      ...[undefined, null, '', 7].map(bad(P)),
      ...['0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A', '1'.repeat(31), '1'.repeat(45), '0'.repeat(44)].map(bad(M)),
      // The system program (zero), 33 bytes, 44 bytes, the neutral element, a key of order 2, p, keys of order 8 and 4.
      ...[
        '1'.repeat(32),
        '1'.repeat(33),
        '1'.repeat(44),
        '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM',
        'Gx9dDNxzpALCowVuZb7pBceBLJugLA8sPa6TJDXrpfeW',
        'H242rsh5hzpvDdct56PG5YPQbKUT37EmySQLoQqrYUJr',
        'EQAqmjhcsBQhpBv5GJkYgEB7emGHZNoo1j1yAjiFLNvD',
        '3ctC68zTqpRDQShoondiQKDHwZDAUjRyxiPNdg8cD6Rr',
        '11111111111111111111111111111113D',
      ].map(bad(W)),
      ['11111111111111111111111111111112', S],
      ['4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi', S],
    ],
  },
};

export const SIGNATURES: Record<'evm' | 'Solana', Values> = {
  evm: [
    ...[undefined, null, '', 7, {}].map(bad(P)),
    ...['0x', 'x', '0xzz', '0x123'].map(bad(S)),
    [(before: string) => before.slice(2), S],
    [(before: string) => `0x${before.slice(2).toUpperCase()}`, S],
    [(before: string) => `0X${before.slice(2)}`, S],
    [(before: string) => ` ${before}`, S],
    [(before: string) => `${before}\n`, S],
    [(before: string) => `0x${'0'.repeat(130)}`.slice(0, before.length), S],
    [(before: string) => `0x${'0'.repeat(64)}${before.slice(66)}`, S],
    [(before: string) => `${before.slice(0, 66)}${'0'.repeat(64)}${before.slice(130)}`, S],
    [(before: string) => `0x${'f'.repeat(64)}${before.slice(66)}`, S],
    [(before: string) => `${before.slice(0, -2)}1d`, S],
    [(before: string) => `${before.slice(0, -2)}ff`, S],
    [(before: string) => `${before.slice(0, -2)}${before.endsWith('1b') ? '1c' : '1b'}`, S],
    // Not 65 bytes: only a contract could verify it, and no chain is configured here.
    [(before: string) => before.slice(0, -2), W],
    [(before: string) => `${before}00`, W],
    [(before: string) => `${before}${'6492'.repeat(16)}`, W],
  ],
  Solana: [
    ...[undefined, null, '', 7, {}].map(bad(P)),
    ...['x', '0x', '1'.repeat(64), '='.repeat(88), '2'.repeat(5_000)].map(bad(S)),
    [(before: string) => `1${before}`, S],
    [(before: string) => before.slice(0, -1), S],
    [(before: string) => `${before} `, S],
    [(before: string) => `${before}=`, S],
    [(before: string) => swapLast(before), S],
    [(before: string) => before.replace(/^./, '0'), S],
    [(before: string) => `0x${Buffer.from(before).toString('hex').slice(0, 128)}`, S],
    [`${'A'.repeat(86)}==`, S],
  ],
};

export function bad(code: string) {
  return (value: Value) => [value, code] as const;
}

/** Replaces the last character by another one of both alphabets. */
function swapLast(text: string): string {
  return text.slice(0, -1) + (text.endsWith('2') ? '3' : '2');
}

import { describe, expect, test } from 'vitest';
import { MAX_HEADER_JSON_LENGTH } from '../../../domain/headerJson.ts';
import { readEnvelope } from '../../../domain/payments/readEnvelope.ts';

const TOP_UP = 'https://api.example/api/v1/x402/top-up';
const TOP_UPS = [TOP_UP, 'https://api.example/v1/x402/top-up'];
const PAYLOAD = { signature: '0x12', authorization: { value: '5000000' } };
const ACCEPTED = { scheme: 'exact', network: 'eip155:8453', amount: '5000000', extra: { name: 'ü' } };
const SECOND = { x402Version: 2, resource: { url: TOP_UP }, accepted: ACCEPTED, payload: PAYLOAD };
const FLAT = { x402Version: 1, scheme: 'exact', network: 'base', payload: PAYLOAD };

function encode(content: unknown): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return Buffer.from(text).toString('base64');
}

function codeOf(header: string): string {
  const reading = readEnvelope(header, TOP_UPS);
  return reading.ok ? 'read' : reading.refusal.code;
}

describe('accepted payments', () => {
  test('include a payment of version 2', () => {
    expect(readEnvelope(encode(SECOND), TOP_UPS)).toEqual({
      ok: true,
      envelope: {
        ...{ x402Version: 2, scheme: 'exact', network: 'eip155:8453', accepted: ACCEPTED },
        ...{ resourceUrl: TOP_UP, payload: PAYLOAD },
      },
    });
  });

  test.each([1, 2])('include the flat shape with version %s in it', (x402Version) => {
    expect(readEnvelope(encode({ ...FLAT, x402Version }), TOP_UPS)).toEqual({
      ok: true,
      envelope: { ...FLAT, x402Version, accepted: undefined, resourceUrl: undefined },
    });
  });

  test('include unpadded base64, and the same members in another order', () => {
    for (const spaces of ['', ' ', '  ']) {
      const header = encode(`${spaces}${JSON.stringify(SECOND)}`);
      expect(codeOf(header.replace(/=+$/, ''))).toBe('read');
      expect(codeOf(header)).toBe('read');
    }
    const { payload, ...rest } = SECOND;
    expect(readEnvelope(encode({ payload, ...rest }), TOP_UPS)).toEqual(readEnvelope(encode(SECOND), TOP_UPS));
  });

  test.each([
    ['no resource', undefined],
    ['the short base path', { url: TOP_UPS[1] }],
    ['a query', { url: `${TOP_UP}?from=here` }],
    ['the port of the scheme', { url: TOP_UP.replace('.example', '.example:443') }],
    ['the host in capitals', { url: TOP_UP.replace('api.example', 'API.Example'), description: 'x' }],
  ])('include a resource with %s', (_name, resource) => {
    expect(codeOf(encode({ ...SECOND, resource }))).toBe('read');
  });

  test('include any extensions', () => {
    expect(codeOf(encode({ ...SECOND, extensions: { bazaar: { info: [1, 2] } } }))).toBe('read');
  });
});

describe('invalid base64', () => {
  // Fills whole groups of three bytes, so that both alphabets differ.
  const withSigns = encode({ ...SECOND, extensions: { a: '???>>>~~~ÿÿ' } });

  test.each([
    ['empty', ''],
    ['for addresses', withSigns.replaceAll('+', '-').replaceAll('/', '_')],
    ['with a line break', `${withSigns.slice(0, 76)}\n${withSigns.slice(76)}`],
    ['with a space before it', ` ${withSigns}`],
    ['with a tab after it', `${withSigns}\t`],
    ['with too much padding', `${encode(SECOND).replace(/=+$/, '')}===`],
    ['with padding in the middle', `${encode('{}')}${encode(SECOND)}`],
    ['of a length that is none', `${encode(SECOND).replace(/=+$/, '')}`.slice(0, -1).padEnd(401, 'A')],
    ['with bits left over', `${Buffer.from('{}').toString('base64').slice(0, 2)}1=`],
    ['with a comma', `${withSigns},`],
    ['twice', encode(encode(SECOND))],
    ['plain JSON', JSON.stringify(SECOND)],
    ['percent-encoded', encodeURIComponent(encode(SECOND))],
    ['a data address', `data:application/json;base64,${encode(SECOND)}`],
    ['in quotes', `"${encode(SECOND)}"`],
  ])('%s', (_name, header) => {
    expect(codeOf(header)).toBe('INVALID_PAYMENT_FORMAT');
  });

  test('accepts a header of the maximum length, and no longer one', () => {
    const filled = (more: number) => encode({ ...SECOND, extensions: { a: 'x'.repeat(more) } });
    let most = 5_000;
    while (filled(most + 1).length <= MAX_HEADER_JSON_LENGTH) most += 1;
    expect(codeOf(filled(most))).toBe('read');
    expect(codeOf(filled(most + 3))).toBe('INVALID_PAYMENT_FORMAT');
  });
});

describe('invalid payment JSON', () => {
  const text = JSON.stringify(SECOND);
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

  test.each([
    ['nothing', ' '],
    ['null', 'null'],
    ['a list', `[${text}]`],
    ['a text', JSON.stringify(text)],
    ['a number', '2'],
    ['half of it', text.slice(0, -5)],
    ['two of them', `${text}${text}`],
    ['a comment in it', `/* x */${text}`],
    ['a comma too many', `${text.slice(0, -1)},}`],
    ['single quotes', text.replaceAll('"', "'")],
    ['a byte order mark', `\uFEFF${text}`],
    ['NaN', text.replace('2', 'NaN')],
    ['the same key twice', `${text.slice(0, -1)},"x402Version":2}`],
    ['the same key twice, spelled in two ways', `${text.slice(0, -1)},"x402\\u0056ersion":2}`],
    ['the same key twice, deep inside', text.replace('"value"', '"value":"1","value"')],
    ['__proto__ twice', `${text.slice(0, -1)},"__proto__":1,"__proto__":2}`],
    ['lists in lists without end', text.replace('"exact"', deep(9))],
    ['two thousand lists', deep(2_000)],
  ])('%s', (_name, content) => {
    expect(codeOf(encode(content))).toBe('INVALID_PAYMENT_FORMAT');
  });

  test('includes bytes that are not UTF-8', () => {
    const bytes = Buffer.from(text.replace('ü', '?'));
    bytes[bytes.indexOf('?')] = 0xff;
    expect(codeOf(bytes.toString('base64'))).toBe('INVALID_PAYMENT_FORMAT');
  });

  test('excludes colons, braces and quotes inside strings', () => {
    const extensions = { 'a":"b': '{"a":1,"a":2}', 'c\\': '\\":[[[[[[[[[[[[' };
    expect(codeOf(encode({ ...SECOND, extensions }))).toBe('read');
  });
});

describe('mixtures of both versions', () => {
  test.each([
    ['accepted with version 1', { ...SECOND, x402Version: 1 }],
    ['accepted beside a scheme', { ...SECOND, scheme: 'exact' }],
    ['accepted beside a network', { ...SECOND, network: 'base' }],
    ['the flat shape with a resource', { ...FLAT, resource: { url: TOP_UP } }],
    ['the flat shape of version 2 with a resource', { ...FLAT, x402Version: 2, resource: { url: TOP_UP } }],
    ['the flat shape with extensions', { ...FLAT, extensions: {} }],
    ['the flat shape with accepted: null', { ...FLAT, accepted: null }],
    ['both at once', { ...SECOND, ...FLAT }],
  ])('%s', (_name, content) => {
    expect(codeOf(encode(content))).toBe('INVALID_PAYMENT_FORMAT');
  });
});

test.each([
  ['another host', 'https://api.other/api/v1/x402/top-up'],
  ['a host that begins like ours', 'https://api.example.evil.test/api/v1/x402/top-up'],
  ['our host as a user', 'https://api.example@evil.test/api/v1/x402/top-up'],
  ['a user at our host', 'https://user@api.example/api/v1/x402/top-up'],
  ['http', 'http://api.example/api/v1/x402/top-up'],
  ['another port', 'https://api.example:8443/api/v1/x402/top-up'],
  ['a request for inference', 'https://api.example/api/v1/chat/completions'],
  ['an unknown base path', 'https://api.example/v2/x402/top-up'],
  ['a slash at the end', `${TOP_UP}/`],
  ['a longer path', `${TOP_UP}2`],
  ['the path in capitals', 'https://api.example/API/v1/x402/top-up'],
  ['a relative address', '/api/v1/x402/top-up'],
  ['no scheme', '//api.example/api/v1/x402/top-up'],
  ['an encoded slash', 'https://api.example/api/v1/x402%2Ftop-up'],
  ['nothing', ''],
])('refuses a resource other than the top-up: %s', (_name, url) => {
  expect(codeOf(encode({ ...SECOND, resource: { url } }))).toBe('INVALID_PAYMENT');
});

import { describe, expect, test } from 'vitest';
import {
  hostOfDomain,
  hostOfUri,
  isDomain,
  isRequestId,
  isStatement,
  isUri,
  readDateTime,
} from '../../../domain/signIn/grammar.ts';

describe('a URI', () => {
  test.each([
    ...['https://api.example.com', 'https://api.example.com/', 'HTTPS://API.example.com:8443/a/b?c=d#e'],
    ...['http://[::1]:8080/', 'urn:isbn:0486275574', 'did:key:z6Mk', 'mailto:a@b.c', 'https://u:p@host/'],
    ...['x:y', 'https://host/%41%7e', 'https://host/?a=/?:@', 'https://host#', `x:${'a'.repeat(2_046)}`],
  ])('%.60s is valid', (text) => {
    expect(isUri(text)).toBe(true);
  });

  test.each([
    ...['', 'api.example.com', '/path', '//host/path', 'https:', '1https://host', ':x', 'https://host/a b'],
    ...['https://host/%4', 'https://host/%zz', 'https://host/<a>', 'https://host/"', 'https://host/\\'],
    ...['https://host/\n', 'https://hést/', 'https://[::g]/', 'https://host#a#b', `x:${'a'.repeat(2_047)}`],
  ])('%.60s is invalid', (text) => {
    expect(isUri(text)).toBe(false);
  });
});

describe('a domain', () => {
  test.each([
    ...['api.example.com', 'localhost:3000', '127.0.0.1', '[::1]:80', 'https://api.example.com'],
    ...['api.example.com/path', 'user@api.example.com', 'a'.repeat(300)],
  ])('%.60s is valid', (text) => {
    expect(isDomain(text)).toBe(true);
  });

  test.each(['', 'api example.com', 'api.example.com?x', 'api.example.com#x', 'exa\nmple', 'é', 'a'.repeat(301)])(
    '%.60s is invalid',
    (text) => {
      expect(isDomain(text)).toBe(false);
    },
  );

  test.each<[string, string | undefined]>([
    ['api.example.com', 'api.example.com'],
    ['API.Example.com', 'api.example.com'],
    ['api.example.com:8443', 'api.example.com'],
    ['https://api.example.com/path', 'api.example.com'],
    ['http://127.0.0.1:80', '127.0.0.1'],
    ['[::1]:80', '[::1]'],
    // Hosts that a comparison of prefixes or suffixes would accept.
    ['api.example.com.evil.test', 'api.example.com.evil.test'],
    ['evil.test/api.example.com', 'evil.test'],
    ['evil.test/@api.example.com', 'evil.test'],
    ['api.example.com@evil.test', undefined],
    ['https://api.example.com@evil.test', undefined],
    ['api.example.com:80@evil.test', undefined],
    ['ftp://api.example.com', undefined],
    ['api.example.com:', undefined],
    ['api.example.com:123456', undefined],
    ['-api.example.com', undefined],
    ['api.example.com.', undefined],
    ['api%2Eexample.com', undefined],
    ['', undefined],
  ])('"%s" names the host %s', (domain, host) => {
    expect(hostOfDomain(domain)).toBe(host);
  });
});

describe('the host of a URI', () => {
  test.each<[string, string | undefined]>([
    ['https://api.example.com', 'api.example.com'],
    ['HTTPS://API.EXAMPLE.COM/x', 'api.example.com'],
    ['http://api.example.com:80?x=1', 'api.example.com'],
    ['https://api.example.com#x', 'api.example.com'],
    ['https://[::1]:8443/', '[::1]'],
    ['https://api.example.com.evil.test/', 'api.example.com.evil.test'],
    ['https://evil.test/?https://api.example.com', 'evil.test'],
    ['https://evil.test#@api.example.com', 'evil.test'],
    ['https://api.example.com@evil.test/', undefined],
    ['https://user:api.example.com@evil.test/', undefined],
    ['https://api.example.com\\@evil.test/', undefined],
    ['wss://api.example.com/', undefined],
    ['urn:api.example.com', undefined],
    ['api.example.com', undefined],
  ])('"%s" is %s', (uri, host) => {
    expect(hostOfUri(uri)).toBe(host);
  });

  test('is the host of a browser, for every URI of the grammar that names one', () => {
    const uris = [
      ...['https://api.example.com/a?b#c', 'http://a.b:81/', 'https://A.B', 'https://[::1]/x', 'https://x.y?z'],
      ...['https://u@a.b/', 'https://a.b:80@c.d/', 'https://a.b;x=1/', 'https://a.b/@c.d', "https://a'b/"],
    ];
    for (const uri of uris) {
      expect(isUri(uri)).toBe(true);
      const host = hostOfUri(uri);
      if (host !== undefined) expect(host).toBe(new URL(uri).hostname);
    }
  });
});

describe('a statement and a request id', () => {
  test.each(['Sign in to Farebox', 'a', 'https://x/?y=[1]#z', "it's $5 (or 4+1); ok?", 'a'.repeat(1_024)])(
    '%.40s is a statement',
    (text) => {
      expect(isStatement(text)).toBe(true);
    },
  );

  test.each(['', 'two\nlines', '"quoted"', 'über', 'tab\t', '100%', 'a\u0000', '<b>', 'a'.repeat(1_025)])(
    '%.40s is not a statement',
    (text) => {
      expect(isStatement(text)).toBe(false);
    },
  );

  test.each(['order-7', 'a:b@c', '%41', 'a'.repeat(256)])('%.40s is a request id', (text) => {
    expect(isRequestId(text)).toBe(true);
  });

  test.each(['', 'a b', 'a/b', 'a?b', '%4', 'ä', 'a\n', 'a'.repeat(257)])('%.40s is not a request id', (text) => {
    expect(isRequestId(text)).toBe(false);
  });
});

describe('a time', () => {
  test.each([
    ...['2026-03-01', '2026-03-01T12:00Z', '2026-03-01 12:00:00Z', '2026-03-01t12:00:00z', '2026-3-1T12:00:00Z'],
    ...['2026-00-01T00:00:00Z', '2026-13-01T00:00:00Z', '2026-01-00T00:00:00Z', '2026-04-31T00:00:00Z'],
    ...['2026-02-29T00:00:00Z', '1900-02-29T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01T00:60:00Z'],
    ...['2026-01-01T00:00:60Z', '2026-01-01T00:00:00', '2026-01-01T00:00:00+24:00', '2026-01-01T00:00:00+01:60'],
    ...['2026-01-01T00:00:00+0100', '2026-01-01T00:00:00.Z', '2026-01-01T00:00:00.1234567890Z', '1969-12-31T23:59:59Z'],
    ...['2026-01-01T00:00:00Z\n', ' 2026-01-01T00:00:00Z', ''],
  ])('%j is invalid', (text) => {
    expect(readDateTime(text)).toBeUndefined();
  });

  test.each([
    '2026-03-01T12:00:00.123Z',
    '2026-12-31T23:59:59Z',
    '2024-02-29T00:00:00+00:00',
    '2026-06-30T12:00:00-11:30',
  ])('%s equals the time that JavaScript parses', (text) => {
    expect(readDateTime(text)).toBe(Date.parse(text));
  });
});

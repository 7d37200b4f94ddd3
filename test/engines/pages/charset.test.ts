/** The encoding in which a page is decoded. */
import { describe, expect, it } from 'vitest';
import { decodePage } from '../../../engines/pages/charset.ts';
import { MAX_HOSTILE_MS, ranMs } from '../../harness/stall.ts';

const hex = (bytes: string) => Buffer.from(bytes.replaceAll(' ', ''), 'hex');
const html = (head: string, bytes: Buffer) => Buffer.concat([Buffer.from(`<html><head>${head}`), bytes]);

/** A word in each encoding of the WHATWG standard without a byte order mark. */
const ENCODINGS: [string, string, string][] = [
  ['utf-8', 'c3a9', 'é'],
  ['ibm866', '8fe0a8', 'При'],
  ['iso-8859-2', 'b9e6ea', 'šćę'],
  ['iso-8859-3', 'b6 e6', 'ĥĉ'],
  ['iso-8859-4', 'e0ba', 'āē'],
  ['iso-8859-5', 'bfe0d8', 'При'],
  ['iso-8859-6', 'c7d4', 'اش'],
  ['iso-8859-7', 'e1e2', 'αβ'],
  ['iso-8859-8', 'e0e1', 'אב'],
  ['iso-8859-8-i', 'e0e1', 'אב'],
  ['iso-8859-10', 'e0b9', 'āđ'],
  ['iso-8859-13', 'e0f0', 'ąš'],
  ['iso-8859-14', 'e0d0', 'àŴ'],
  ['iso-8859-15', 'a4a6', '€Š'],
  ['koi8-r', 'f0d2c9', 'При'],
  ['koi8-u', 'a4a6', 'єі'],
  ['macintosh', '8e8f', 'éè'],
  ['windows-874', 'a1a2', 'กข'],
  ['windows-1250', '9ae6', 'šć'],
  ['windows-1251', 'cff0e8', 'При'],
  ['windows-1252', '80e993', '€é“'],
  ['windows-1253', 'e1e2', 'αβ'],
  ['windows-1254', 'f0fe', 'ğş'],
  ['windows-1255', 'e0e1', 'אב'],
  ['windows-1256', 'c7d4', 'اش'],
  ['windows-1257', 'e0f0', 'ąš'],
  ['windows-1258', 'fed2', '₫̉'],
  ['x-mac-cyrillic', '8ff0e8', 'При'],
  ['gbk', 'c4e3bac3', '你好'],
  ['gb18030', 'c4e3bac3', '你好'],
  ['big5', 'a741a66e', '你好'],
  ['euc-jp', 'c6fccbdc', '日本'],
  ['iso-2022-jp', '1b2442467c4b5c1b2842', '日本'],
  ['shift_jis', '93fa967b', '日本'],
  ['euc-kr', 'c7d1b1db', '한글'],
];

describe('each WHATWG encoding', () => {
  it.each(ENCODINGS)('%s', (name, bytes, expected) => {
    expect(decodePage(hex(bytes), `text/html; charset=${name}`).text).toBe(expected);
    expect(decodePage(html(`<meta charset="${name}">`, hex(bytes)), 'text/html').text).toContain(expected);
  });
});

describe('the source of the encoding', () => {
  const E1252 = hex('e9');
  it.each<[string, Buffer, string | undefined, string]>([
    ['a mark of UTF-8 before the header', hex('efbbbf c3a9'), 'text/html; charset=windows-1251', 'é'],
    ['a mark of UTF-16LE', hex('fffe e900'), 'text/html; charset=utf-8', 'é'],
    ['a mark of UTF-16BE', hex('feff 00e9'), undefined, 'é'],
    ['the header before the page', html('<meta charset=utf-8>', hex('cf')), 'text/html;charset="windows-1251"', 'П'],
    ['a header in capitals and spaces', hex('cf'), 'TEXT/HTML ; CHARSET = Windows-1251', 'П'],
    ['other labels of the same', hex('cf'), 'text/html; charset=cp1251', 'П'],
    ['latin1, which is windows-1252', hex('80'), 'text/html; charset=iso-8859-1', '€'],
    ['an unknown header, then the page', html('<meta charset=koi8-r>', hex('f0')), 'text/html; charset=nonsense', 'П'],
    ['meta without quotes', html('<meta charset=windows-1251>', hex('cf')), undefined, 'П'],
    [
      'http-equiv',
      html('<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">', hex('cf')),
      undefined,
      'П',
    ],
    [
      'http-equiv, the other way round',
      html("<meta content='text/html;charset=koi8-r' http-equiv=content-type />", hex('f0')),
      undefined,
      'П',
    ],
    [
      'an XML declaration',
      Buffer.concat([Buffer.from('<?xml version="1.0" encoding="windows-1251"?>'), hex('cf')]),
      undefined,
      'П',
    ],
    ['no meta in a comment', html('<!-- <meta charset=koi8-r> -->', Buffer.from('é')), undefined, 'é'],
    ['a page that says UTF-16 and is not', html('<meta charset=utf-16>', Buffer.from('é')), undefined, 'é'],
    ['nothing, and it is UTF-8', Buffer.from('<p>é€'), undefined, 'é€'],
    ['nothing, and it is not', E1252, undefined, 'é'],
    ['broken UTF-8 that says that it is', hex('c3'), 'text/html; charset=utf-8', '\ufffd'],
    ['a label that would run code elsewhere', hex('e9'), 'text/html; charset=replacement', 'é'],
  ])('%s', (_what, body, contentType, expected) => {
    expect(decodePage(body, contentType).text).toContain(expected);
  });

  it('searches for a declaration only in the beginning of a page', () => {
    const startMs = ranMs();
    decodePage(Buffer.from(`<meta ${'charset '.repeat(1_000_000)}`), undefined);
    decodePage(Buffer.from('<!--'.repeat(2_000_000)), undefined);
    expect(ranMs() - startMs).toBeLessThan(MAX_HOSTILE_MS);
  });
});

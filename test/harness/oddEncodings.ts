/** Invalid encodings of a header value that carries JSON in base64. */
import { gzipSync } from 'node:zlib';

export type OddEncoding = readonly [name: string, write: (content: object) => string];

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');

/** JSON with blanks at its end, so that its base64 has this padding. */
function padded(content: object, padding: 1 | 2): string {
  let text = JSON.stringify(content);
  while (Buffer.byteLength(text) % 3 !== 3 - padding) text += ' ';
  return text;
}

/** Base64 with `+` and `/`, which base64url writes differently. */
function withBoth(content: object): string {
  return base64(JSON.stringify({ filler: 'x>>>???', ...content }));
}

export const ODD_ENCODINGS: readonly OddEncoding[] = [
  ['in the alphabet of addresses', (it) => withBoth(it).replaceAll('+', '-').replaceAll('/', '_')],
  ['in that alphabet and without padding', (it) => Buffer.from(withBoth(it), 'base64').toString('base64url')],
  ['as JSON itself', (it) => JSON.stringify(it)],
  ['in hex', (it) => Buffer.from(JSON.stringify(it)).toString('hex')],
  ['in base64 of base64', (it) => base64(base64(JSON.stringify(it)))],
  ['in quotes', (it) => `"${base64(JSON.stringify(it))}"`],
  ['with a name before it', (it) => `base64:${base64(JSON.stringify(it))}`],
  ['with half of its padding', (it) => base64(padded(it, 2)).slice(0, -1)],
  ['with more padding', (it) => `${base64(padded(it, 1))}=`],
  ['with escaped padding', (it) => base64(padded(it, 1)).replace('=', '%3D')],
  ['with a blank inside', (it) => base64(JSON.stringify(it)).replace(/^(.{40})/, '$1 ')],
  ['with a sign behind it', (it) => `${base64(JSON.stringify(it))}!`],
  ['with bits behind the last byte', (it) => base64(padded(it, 1)).replace(/.=$/, lastWithBits)],
  ['in UTF-16', (it) => base64(Buffer.from(JSON.stringify(it), 'utf16le'))],
  ['behind a byte order mark', (it) => base64(`\ufeff${JSON.stringify(it)}`)],
  ['packed', (it) => base64(gzipSync(JSON.stringify(it)))],
  ['twice', (it) => base64(JSON.stringify(it).repeat(2))],
  ['cut off', (it) => base64(JSON.stringify(it).slice(0, -2))],
  ['with a key twice', (it) => base64(JSON.stringify(it).replace('{', '{"address":"0x","payload":{},'))],
  ['with bytes that are no text', (it) => base64(Buffer.concat([Buffer.from(JSON.stringify(it)), Buffer.from([255])]))],
  ['longer than 8 kB', (it) => base64(JSON.stringify(it).padEnd(6_147))],
  ['nested too deep', (it) => base64(JSON.stringify({ ...it, deep: JSON.parse('['.repeat(20) + ']'.repeat(20)) }))],
];

function lastWithBits(tail: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return `${alphabet[alphabet.indexOf(tail[0] ?? 'A') + 1] ?? 'B'}=`;
}

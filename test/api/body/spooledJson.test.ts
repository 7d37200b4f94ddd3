/** JSON bodies whose long strings become files: the short values and the files are exact. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBodyBudget } from '../../../api/body/bodyBuffer.ts';
import { BodyReader } from '../../../api/body/bodyReader.ts';
import { readSpooledJson } from '../../../api/body/spooledJson.ts';
import { SpooledText } from '../../../api/body/spooledText.ts';
import { TurnGuard } from '../../../api/server/turnGuard.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'spooled-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const MEGABYTE = 1_048_576;
const LONG = randomBytes(300_000);
const BASE64 = LONG.toString('base64');

/** Returns a request as Node's server gives it, in chunks of this size. */
function sent(text: string | Buffer, pieceBytes = 65_536): IncomingMessage {
  const bytes = Buffer.from(text as string);
  const pieces = function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield Buffer.from(bytes.subarray(at, at + pieceBytes));
  };
  const request = Object.assign(Readable.from(pieces(), { objectMode: true }), {
    headers: {},
    complete: true,
  });
  return request as unknown as IncomingMessage;
}

async function read(text: string | Buffer, { pieceBytes = 65_536, maxBytes = 64 * MEGABYTE } = {}) {
  let folder: string | undefined;
  const createFolder = async () => {
    folder ??= await mkdtemp(join(root, 'one-'));
    return folder;
  };
  return await readSpooledJson(sent(text, pieceBytes), {
    bodyReader: new BodyReader(new TurnGuard()),
    maxBytes,
    maxFileBytes: 25 * MEGABYTE,
    createFolder,
    reservedBytes: createBodyBudget(1024 * MEGABYTE).open('test'),
    noteSpooled: () => undefined,
  });
}

async function bytesOf(value: unknown): Promise<Buffer> {
  if (!(value instanceof SpooledText) || !value.file) throw new Error('no file');
  const { content } = value.file;
  return 'bytes' in content ? content.bytes : await readFile(content.path);
}

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
const everyLetter = (text: string) =>
  [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

describe('a long string, decoded into a file', () => {
  it.each([
    ['as it is', BASE64],
    ['as a data URL', `data:image/png;base64,${BASE64}`],
    ['without padding', BASE64.replace(/=+$/, '')],
    ['in the other alphabet', LONG.toString('base64url')],
    ['with its slashes escaped', BASE64.replaceAll('/', '\\/')],
    ['in lines', escaped(BASE64.replace(/(.{76})/g, '$1\r\n'))],
    ['each letter an escape', everyLetter(BASE64)],
  ])('%s', async (_name, text) => {
    for (const pieceBytes of [65_536, 4_099]) {
      const body = (await read(`{"prompt":"a \\"b\\" \\\\","images":["${text}", 1.5]}`, { pieceBytes })) as {
        prompt: string;
        images: unknown[];
      };
      expect([body.prompt, body.images[1]]).toEqual(['a "b" \\', 1.5]);
      expect(LONG.equals(await bytesOf(body.images[0]))).toBe(true);
    }
  });

  it('keeps the content type that it claims', async () => {
    const [spooled] = (await read(`["data:Image/WebP;base64,${BASE64}"]`)) as [SpooledText];
    expect(spooled.file).toMatchObject({ claimedContentType: 'image/webp', sizeBytes: LONG.length });
  });
});

it('equals JSON.parse for a body without long strings, wherever its chunks are cut', async () => {
  const text = '{"a\\u0062":"\\\\","b":["\\"","é☃","\\\\\\"",{}],"c":{"d":null,"e":-1e3},"f":"\\/\\u00e9"}';
  for (let pieceBytes = 1; pieceBytes < 12; pieceBytes += 1) {
    expect(await read(text, { pieceBytes })).toEqual(JSON.parse(text));
  }
});

it.each([
  ['a letter that is none of base64', `${BASE64.slice(0, 280_000)}!${BASE64}`],
  ['letters after the padding', `${BASE64}=AAAA`],
  ['one letter too many', `${BASE64}A`],
  ['a long address', `https://example.com/${'a'.repeat(300_000)}`],
  ['a data URL that is not in base64', `data:image/png,${BASE64}`],
  ['letters past ASCII', 'é'.repeat(200_000)],
])('keeps %s as text', async (_name, text) => {
  const [spooled] = (await read(`["${text}"]`)) as [SpooledText];
  expect([spooled instanceof SpooledText, spooled.file]).toEqual([true, undefined]);
});

describe('a refused body', () => {
  const long = (text: string) => `["${BASE64}${text}"]`;
  it.each([
    ['a raw line break in a long string', long('\n'), 'invalid_json'],
    ['an escape that is none', long('\\x41'), 'invalid_json'],
    ['an escape that is cut off', long('\\u12'), 'invalid_json'],
    ['a string without an end', `["${BASE64}`, 'invalid_json'],
    ['a body without an end', `["${BASE64}"`, 'invalid_json'],
    ['two bodies', `["${BASE64}"] []`, 'invalid_json'],
    ['no body', '', 'invalid_json'],
    ['too deep a body', '['.repeat(100), 'invalid_request'],
    ['too many members', `[${'1,'.repeat(30_000)}1]`, 'invalid_request'],
    ['too many long strings', `[${`"${BASE64}",`.repeat(17)}1]`, 'invalid_request'],
    ['too much beside the files', `[${`"${'a'.repeat(200_000)}",`.repeat(25)}1]`, 'body_too_large'],
    ['a file of more than 25 MB', `["${'A'.repeat(36 * MEGABYTE)}"]`, 'payload_too_large'],
  ])('%s', async (_name, text, code) => {
    await expect(read(text)).rejects.toMatchObject({ code });
  });

  it('more than the whole body may have', async () => {
    await expect(read(`["${BASE64}"]`, { maxBytes: 300_000 })).rejects.toMatchObject({
      code: 'body_too_large',
    });
  });
});

it('never makes a file from the name of a member', async () => {
  const body = (await read(`{"${BASE64}":1}`)) as object;
  expect(Object.values(body)).toEqual([1]);
});

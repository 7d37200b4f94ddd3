/** Invalid requests of the text and augment routes, each with its documented answer. */
import { expect } from 'vitest';
import { dataUrl, gif, heif, jpeg, png, webp } from '../api/text/pictures.ts';
import type { BadRequest } from './badRequests.ts';

export const CHAT = '/chat/completions';
export const EMBEDDINGS = '/embeddings';
export const SCRAPE = '/augment/scrape';
export const PARSER = '/augment/text-parser';
export const CHAT_MODEL = 'gpt-stub';
export const EMBEDDING_MODEL = 'embed-stub';

const INVALID = { error: 'Invalid request parameters' };
const INVALID_JSON = { error: 'Invalid JSON request' };
const TOO_COMPLEX = { error: expect.stringContaining('too complex') };
const HELLO = [{ role: 'user', content: 'Hello' }];

/** Documented details that name the field. */
function invalid(field: string): unknown {
  return { ...INVALID, details: { [field]: expect.any(Object) }, issues: expect.any(Array) };
}

export function chat(name: string, fields: object, body: unknown, status = 400): BadRequest {
  return {
    name,
    path: CHAT,
    call: { json: { model: CHAT_MODEL, messages: HELLO, ...fields } },
    status,
    body,
  };
}

/** `rest` follows the model as raw JSON. */
function raw(name: string, rest: string, body: unknown, path = CHAT, status = 400): BadRequest {
  const model = path === CHAT ? CHAT_MODEL : EMBEDDING_MODEL;
  const text = `{"model":"${model}",${rest}}`;
  const call = { raw: { bytes: Buffer.from(text), contentType: 'application/json' } };
  return { name, path, call, status, body };
}

function embeddings(name: string, fields: object, body: unknown): BadRequest {
  const call = { json: { model: EMBEDDING_MODEL, input: 'Hello', ...fields } };
  return { name, path: EMBEDDINGS, call, status: 400, body };
}

function scrape(name: string, json: object): BadRequest {
  return { name, path: SCRAPE, call: { json }, status: 400, body: { error: expect.any(String) } };
}

const MESSAGES = '"messages":[{"role":"user","content":"Hello"}]';
const many = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(',')}]`;
const nested = (levels: number) => `${'{"properties":{"a":'.repeat(levels)}{}${'}}'.repeat(levels)}`;

/** Input far above the parser's limits, and just below. */
export const MASSES: BadRequest[] = [
  raw('100,000 messages', `"messages":${many(100_000, '{"role":"user","content":"x"}')}`, TOO_COMPLEX),
  raw('9,900 messages of nobody', `"messages":${many(9_900, '{"role":"nobody","content":"x"}')}`, INVALID),
  raw('19,000 messages that are none', `"messages":${many(19_000, '1')}`, INVALID),
  raw('19,000 parts that are none', `"messages":[{"role":"user","content":${many(19_000, '{}')}}]`, INVALID),
  raw(
    '19,000 tool calls that are none',
    `"messages":[{"role":"assistant","tool_calls":${many(19_000, '{}')}}]`,
    INVALID,
  ),
  raw(
    '10,000 levels of a schema',
    `${MESSAGES},"response_format":{"type":"json_schema","json_schema":${nested(10_000)}}`,
    TOO_COMPLEX,
  ),
  ...['tools', 'stop', 'stop_token_ids', 'include', 'fallbacks'].flatMap((field) => [
    raw(`a million ${field}`, `${MESSAGES},"${field}":${many(1_000_000, '1')}`, TOO_COMPLEX),
    raw(`19,000 ${field}`, `${MESSAGES},"${field}":${many(19_000, '1')}`, invalid(field)),
  ]),
  chat('200 fallbacks', { fallbacks: Array(200).fill({ model: CHAT_MODEL }) }, invalid('fallbacks')),
  raw('a million inputs', `"input":${many(1_000_000, '"x"')}`, TOO_COMPLEX, EMBEDDINGS),
  {
    ...chat('a prompt of 30 MB', {}, { error: { code: 'context_length_exceeded', param: 'messages' } }),
    call: {
      json: { model: CHAT_MODEL, messages: [{ role: 'user', content: 'word '.repeat(6_000_000) }] },
    },
  },
  chat(
    'a prompt of one word without end',
    { messages: [{ role: 'user', content: '漢'.repeat(1_000_000) }] },
    { error: { type: 'invalid_request_error', code: 'context_length_exceeded' } },
  ),
];

export const MESSAGE_FIELDS: BadRequest[] = [
  ...['function', '', 'User', '__proto__', 5, null, undefined].map((role) =>
    chat(`the role ${JSON.stringify(role)}`, { messages: [{ role, content: 'x' }] }, invalid('messages')),
  ),
  ...[
    [{ type: 'text', text: '' }],
    [{ type: 'text' }],
    [{ type: 'text', text: ['x'] }],
    [{ type: 'words', text: 'x' }],
    [null],
    {},
    7,
  ].map((content) =>
    chat(`the content ${JSON.stringify(content)}`, { messages: [{ role: 'user', content }] }, invalid('messages')),
  ),
  ...[undefined, null, {}, []].map((messages) =>
    chat(`the messages ${JSON.stringify(messages)}`, { messages }, invalid('messages')),
  ),
  chat('a tool result of nothing', { messages: [{ role: 'tool', content: 'x' }] }, invalid('messages')),
  ...['', 'a||b', 'a\u0000b', 'a\nb', 'ü', '\ud800', '😀', 'x'.repeat(129), 7, {}].map((id) =>
    chat(`the end user ${JSON.stringify(id).slice(0, 20)}`, { anon_user_id: id }, invalid('anon_user_id')),
  ),
  ...['', 'h', '0h', '1.5h', '-1h', '1 h', '1w', 'in-memory', 'forever', 3_600].map((retention) =>
    chat(
      `the retention ${JSON.stringify(retention)}`,
      { prompt_cache_retention: retention },
      invalid('prompt_cache_retention'),
    ),
  ),
];

export const NUMBERS: BadRequest[] = [
  ...[1e9, 0, -1, 1.5, '1', true, [1]].map((n) => chat(`n ${JSON.stringify(n)}`, { n }, invalid('n'))),
  ...['NaN', 'Infinity', '-Infinity', '01', '1.', '+1', '0x10', '1_000'].flatMap((literal) => [
    raw(`the temperature ${literal}`, `${MESSAGES},"temperature":${literal}`, INVALID_JSON),
    raw(`the dimensions ${literal}`, `"input":"x","dimensions":${literal}`, INVALID_JSON, EMBEDDINGS),
  ]),
  ...[
    ...['temperature', 'top_p', 'min_p', 'n', 'seed', 'top_k', 'max_tokens', 'repetition_penalty'],
    ...['max_completion_tokens', 'frequency_penalty', 'top_logprobs'],
  ].map((field) => raw(`${field} beyond numbers`, `${MESSAGES},"${field}":1e400`, invalid(field))),
  raw('token ids beyond numbers', `${MESSAGES},"stop_token_ids":[1e400]`, invalid('stop_token_ids')),
  raw('a number twice, the last one wrong', `${MESSAGES},"n":1,"n":1e9`, invalid('n')),
  raw(
    'two models, the last one unknown',
    `${MESSAGES},"model":"nobody-knows"`,
    { error: 'Specified model not found' },
    CHAT,
    404,
  ),
  raw('a model of half a character', `${MESSAGES},"model":"\\ud800"`, { error: expect.any(String) }, CHAT, 404),
  raw('a field of half a character', `${MESSAGES},"\\udfff":1`, { ...INVALID, issues: expect.any(Array) }),
  raw('a field named __proto__', `${MESSAGES},"__proto__":{"n":2}`, INVALID),
];

export const EMBEDDING_FIELDS: BadRequest[] = [
  embeddings('2,049 inputs', { input: Array(2_049).fill('x') }, invalid('input')),
  ...[undefined, null, '', [], [''], ['x', ''], [1, 2, 3], [[1, 2]], [null], {}, 7].map((input) =>
    embeddings(`the input ${JSON.stringify(input)}`, { input }, invalid('input')),
  ),
  raw('inputs of numbers beyond numbers', '"input":[[1e400,1e400],[1e400]]', invalid('input'), EMBEDDINGS),
  embeddings(
    'an input of too many tokens',
    { input: ['x', 'x'.repeat(27_600)] },
    { error: 'Input text exceeds the maximum token limit of 8192 tokens' },
  ),
  ...[0, -1, 1.5, 1e9, '4'].map((dimensions) =>
    embeddings(`${JSON.stringify(dimensions)} dimensions`, { dimensions }, invalid('dimensions')),
  ),
  embeddings('an unknown format', { encoding_format: 'hex' }, invalid('encoding_format')),
  embeddings('an unknown field', { inputs: 'x' }, { ...INVALID, issues: [{ code: 'unrecognized_keys' }] }),
  embeddings('a model of another kind', { model: CHAT_MODEL }, { error: expect.any(String) }),
];

export function withPart(part: object): object {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Look:' }, part] }] };
}
export const picture = (url: string) => ({ type: 'image_url', image_url: { url } });
export const file = (url: string, filename?: string) => {
  return { type: 'file', file: { file_data: url, ...(filename && { filename }) } };
};

const SMALL = { error: expect.stringContaining('at least 64 pixels') };
const HUGE = { error: expect.stringContaining('pixels') };
const NO_PICTURE = { error: expect.stringContaining('not a PNG, JPEG, WebP, HEIF, HEIC or AVIF image') };
const DAMAGED = { error: expect.stringContaining('damaged') };

export const PICTURES: BadRequest[] = [
  ...(
    [
      ['a PNG of 65,535 × 65,535', png(65_535, 65_535), HUGE],
      ['a JPEG of 65,535 × 65,535', jpeg(65_535, 65_535), HUGE],
      ['a WebP of 16,777,216 × 16,777,216', webp('VP8X', 16_777_216, 16_777_216), HUGE],
      ['an AVIF of 4,294,967,295 × 1,000', heif('avif', 4_294_967_295, 1_000), HUGE],
      ['a PNG of 63 × 64', png(63, 64), SMALL],
      ['a PNG of 64 × 63', png(64, 63), SMALL],
      ['a JPEG of 1 × 1,000', jpeg(1, 1_000), SMALL],
      ['a WebP of 63 × 63', webp('VP8L', 63, 63), SMALL],
      ['a HEIC of 16 × 16', heif('heic', 16, 16), SMALL],
      ['a PNG of no pixels', png(0, 0), DAMAGED],
      ['the head of a PNG', png(64, 64).subarray(0, 12), DAMAGED],
      ['a GIF of 10,000 frames', gif(10_000), NO_PICTURE],
      ['a text', Buffer.from('hello'), NO_PICTURE],
      ['a vector graphic', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), NO_PICTURE],
    ] as const
  ).map(([name, bytes, body]) => chat(`${name} as a picture`, withPart(picture(dataUrl(bytes))), body)),
  chat('a GIF of 10,000 frames as a file', withPart(file(dataUrl(gif(10_000)))), NO_PICTURE),
  chat('a PNG of 65,535 × 65,535 as a file', withPart(file(dataUrl(png(65_535, 65_535)))), HUGE),
  ...['!!!!', 'AAAAA', 'AAAA=AAA', 'AA\u0141A', '', 'https://example.com/'].flatMap((data) => [
    chat(
      `the base64 ${JSON.stringify(data)} as a picture`,
      withPart(picture(`data:image/png;base64,${data}`)),
      invalid('messages'),
    ),
    chat(
      `the base64 ${JSON.stringify(data)} as a recording`,
      withPart({ type: 'input_audio', input_audio: { data } }),
      invalid('messages'),
    ),
  ]),
  chat('a data URL that is text', withPart(picture('data:image/png,hello')), invalid('messages')),
  ...[
    (url: string) => picture(url),
    (url: string) => file(url),
    (url: string) => ({ type: 'video_url', video_url: { url } }),
  ].flatMap((part) => [
    {
      ...chat(
        `a data URL of 26 MB as ${part('').type}`,
        withPart(part(dataUrl(Buffer.alloc(26_214_401), 'video/mp4'))),
        { code: 'PAYLOAD_TOO_LARGE', error: expect.stringContaining('larger than 25 MB') },
      ),
      status: 413,
    },
  ]),
  {
    ...chat('a data URL of 30 MB', withPart(picture(dataUrl(Buffer.alloc(30_000_000)))), {
      error: 'Request body exceeds the maximum allowed size.',
    }),
    status: 413,
  },
  chat(
    'base64 of 30 MB that is wrong at its end',
    withPart(picture(`data:image/png;base64,${'A'.repeat(30_000_000)}!`)),
    invalid('messages'),
  ),
  chat('eleven pictures', withParts(11, picture('https://example.com/')), invalid('messages')),
  chat('six files', withParts(6, file('https://example.com/')), invalid('messages')),
];

function withParts(count: number, part: object): object {
  return { messages: [{ role: 'user', content: Array(count).fill(part) }] };
}

export const PAGES: BadRequest[] = [
  ...['', 7, null, ['http://example.com/'], 'x'.repeat(8_193), 'example.com', 'http://', 'http://a b/'].map((url) =>
    scrape(`the page ${JSON.stringify(url).slice(0, 30)}`, { url }),
  ),
  scrape('no page', {}),
  scrape('a page and more', { url: 'https://example.com/', depth: 2 }),
];

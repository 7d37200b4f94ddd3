/** Requests with invalid bodies, fields or ids, each with its documented answer. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { blobOf, type Call } from './client.ts';
import { toneWav } from './recordings.ts';

export interface BadRequest {
  name: string;
  /** Default: the queue route. */
  path?: string;
  call: Call;
  status: number;
  /** Required part of the body. */
  body: unknown;
}

const MODEL = 'quick-voice';
const URL = 'http://example.com/a.wav';
const RETRIEVE = '/audio/voice-changer/retrieve';
const COMPLETE = '/audio/voice-changer/complete';
const source = () => blobOf(toneWav(1));

const INVALID = { error: 'Invalid request parameters' };
const INVALID_JSON = { error: 'Invalid JSON request' };
const INVALID_ID = { error: 'Request ID is invalid.' };
const TOO_COMPLEX = { error: expect.stringContaining('too complex') };

/** Documented details that name the field. */
function invalid(field: string): unknown {
  return { ...INVALID, details: { [field]: { _errors: [expect.any(String)] } } };
}

function json(name: string, body: object, expected: unknown, status = 400): BadRequest {
  return { name, call: { json: body }, status, body: expected };
}

function form(name: string, fields: Record<string, string | Blob>, expected: unknown): BadRequest {
  return { name, call: { form: fields }, status: 400, body: expected };
}

function raw(
  name: string,
  text: string | Buffer<ArrayBuffer>,
  expected: unknown,
  more: { type?: string; status?: number } = {},
) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const { type = 'application/json', status = 400 } = more;
  return { name, call: { raw: { bytes, contentType: type } }, status, body: expected };
}

export const SOURCES: BadRequest[] = [
  json('no source', { model: MODEL }, invalid('audio_url')),
  form('no source in a form', { model: MODEL }, invalid('audio_url')),
  form('two sources', { model: MODEL, file: source(), audio_url: URL }, invalid('audio_url')),
  form('an empty URL beside a file', { model: MODEL, file: source(), audio_url: '' }, invalid('audio_url')),
  json('a file in JSON', { model: MODEL, file: 'UklGRg==' }, INVALID),
  json('an empty URL', { model: MODEL, audio_url: '' }, invalid('audio_url')),
  json('a URL that is a number', { model: MODEL, audio_url: 7 }, invalid('audio_url')),
  json('a list of URLs', { model: MODEL, audio_url: [URL] }, invalid('audio_url')),
  json('a URL of 10,000 characters', { model: MODEL, audio_url: URL + 'a'.repeat(10_000) }, invalid('audio_url')),
  ...['file:///etc/passwd', 'data:audio/wav;base64,UklGRg==', 'ftp://example.com/a.wav', '//example.com/a'].map((url) =>
    json(`the URL ${url}`, { model: MODEL, audio_url: url }, invalid('audio_url')),
  ),
];

export const FIELDS: BadRequest[] = [
  json('no model', { audio_url: URL }, { error: 'model is required' }),
  json('an empty model', { model: '', audio_url: URL }, { error: 'model is required' }),
  json('a model that is a number', { model: 5, audio_url: URL }, { error: 'model must be a string' }),
  json('an unknown model', { model: 'no-such-model', audio_url: URL }, { error: 'Specified model not found' }, 404),
  json('__proto__ as a model', { model: '__proto__', audio_url: URL }, { error: 'Specified model not found' }, 404),
  json('a model of another kind', { model: 'some-text-model', audio_url: URL }, invalid('model')),
  json(
    'a model that is offline',
    { model: 'elevenlabs-voice-changer', audio_url: URL },
    { error: expect.any(String) },
    503,
  ),
  json('an unknown voice', { model: MODEL, audio_url: URL, voice: 'nobody' }, invalid('voice')),
  json('an empty voice', { model: MODEL, audio_url: URL, voice: '' }, invalid('voice')),
  json('a voice of 61 characters', { model: MODEL, audio_url: URL, voice: 'v'.repeat(61) }, invalid('voice')),
  json('a voice that is a number', { model: MODEL, audio_url: URL, voice: 1 }, invalid('voice')),
  form('an unknown voice with a file', { model: MODEL, file: source(), voice: '../alto' }, invalid('voice')),
  ...[-1, 1.5, 2 ** 53, '7', null, true, {}].map((seed) =>
    json(`the seed ${JSON.stringify(seed)}`, { model: 'local-voice-changer', audio_url: URL, seed }, invalid('seed')),
  ),
  raw('a seed beyond numbers', `{"model":"local-voice-changer","audio_url":"${URL}","seed":1e400}`, invalid('seed')),
  ...['-1', '1.5', '0x10', '1e3', '9'.repeat(17), '9007199254740993', ' 1', ''].map((seed) =>
    form(`the form's seed "${seed}"`, { model: 'local-voice-changer', file: source(), seed }, invalid('seed')),
  ),
  json('a seed that the model does not take', { model: MODEL, audio_url: URL, seed: 1 }, invalid('seed')),
  json(
    'a word for a boolean',
    { model: MODEL, audio_url: URL, remove_background_noise: 'true' },
    invalid('remove_background_noise'),
  ),
  form(
    "a form's boolean that is none",
    { model: MODEL, file: source(), remove_background_noise: 'yes' },
    invalid('remove_background_noise'),
  ),
  form(
    'an option that the model does not have',
    { model: MODEL, file: source(), remove_background_noise: 'true' },
    invalid('remove_background_noise'),
  ),
  json(
    'an unknown field',
    { model: MODEL, audio_url: URL, speed: 2 },
    { ...INVALID, issues: [{ code: 'unrecognized_keys' }] },
  ),
  json(
    'a field named __proto__',
    JSON.parse(`{"model":"${MODEL}","audio_url":"${URL}","__proto__":{"seed":1}}`),
    INVALID,
  ),
  form(
    'an unknown field in a form',
    { model: MODEL, file: source(), speed: '2' },
    { ...INVALID, issues: [{ code: 'unrecognized_keys' }] },
  ),
  form(
    'a file in another field',
    { model: MODEL, audio: source() },
    { error: expect.stringContaining('Invalid multipart request') },
  ),
];

const WRONG_TYPE = { error: "'Content-Type' must be 'application/json'" };

export const BODIES: BadRequest[] = [
  raw('no content type', '{}', WRONG_TYPE, { type: '' }),
  raw('plain text', '{}', WRONG_TYPE, { type: 'text/plain' }),
  raw('a web form', 'model=a', WRONG_TYPE, { type: 'application/x-www-form-urlencoded' }),
  raw('JSON in UTF-16', '{}', WRONG_TYPE, { type: 'application/json; charset=utf-16' }),
  raw('an empty body', '', INVALID_JSON),
  raw('half a body', '{"model":"a",', INVALID_JSON),
  raw('two bodies', '{}{}', INVALID_JSON),
  raw('a comment', '{/* */}', INVALID_JSON),
  raw('no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), INVALID_JSON),
  ...['null', '[]', '"text"', '5', 'true'].map((body) => raw(`the body ${body}`, body, { error: expect.any(String) })),
  raw('100,000 brackets', '['.repeat(60_000), TOO_COMPLEX),
  raw('closed brackets', '['.repeat(30_000) + ']'.repeat(30_000), TOO_COMPLEX),
  raw('nested objects', '{"a":'.repeat(10_000), TOO_COMPLEX),
  raw('depth inside a field', `{"model":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, TOO_COMPLEX),
  raw('many keys', `{${Array.from({ length: 6_000 }, (_, index) => `"k${index}":1`).join(',')}}`, {
    error: expect.any(String),
  }),
  raw('10 MB of brackets', '['.repeat(10_000_000), { error: expect.any(String) }, { status: 413 }),
  raw('10 MB of keys', bigObject(10_000_000), { error: expect.any(String) }, { status: 413 }),
  raw(
    '10 MB of text',
    `{"model":"${'a'.repeat(10_000_000)}"}`,
    { error: 'Request body exceeds the maximum allowed size.' },
    { status: 413 },
  ),
];

function bigObject(sizeBytes: number): string {
  const member = (index: number) => `"key${index}":{"a":[]},`;
  let text = '{';
  for (let index = 0; text.length < sizeBytes; index += 1) text += member(index);
  return text;
}

const BROKEN_FORM = { error: expect.stringContaining('Invalid multipart request') };
const part = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const MULTIPART = { type: 'multipart/form-data; boundary=b' };

export const FORMS: BadRequest[] = [
  raw('a form without boundary', part('model', MODEL), BROKEN_FORM, { type: 'multipart/form-data' }),
  raw('a form with another boundary', `${part('model', MODEL)}--b--\r\n`, BROKEN_FORM, {
    type: 'multipart/form-data; boundary=c',
  }),
  raw('a form without end', part('model', MODEL), BROKEN_FORM, MULTIPART),
  raw(
    'a form cut in its file',
    `${part('model', MODEL)}--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF`,
    BROKEN_FORM,
    MULTIPART,
  ),
  raw('an empty form', '', BROKEN_FORM, MULTIPART),
  raw(
    'a field sent twice',
    `${part('model', 'local-voice-changer')}${part('model', MODEL)}--b--\r\n`,
    BROKEN_FORM,
    MULTIPART,
  ),
  raw('two files', `${part('model', MODEL)}${filePart()}${filePart()}--b--\r\n`, BROKEN_FORM, MULTIPART),
  raw('a part without a name', '--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n', BROKEN_FORM, MULTIPART),
  raw('a part without headers', '--b\r\n\r\nx\r\n--b--\r\n', BROKEN_FORM, MULTIPART),
  raw('a thousand parts', `${part('model', MODEL).repeat(1_000)}--b--\r\n`, BROKEN_FORM, MULTIPART),
  raw('a part with endless headers', `--b\r\nX: ${'x'.repeat(1_000_000)}`, BROKEN_FORM, MULTIPART),
  raw('a field of a megabyte', `${part('model', 'm'.repeat(1_000_000))}--b--\r\n`, BROKEN_FORM, MULTIPART),
];

function filePart(): string {
  return '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n';
}

export const IDS: BadRequest[] = [
  ...[
    randomUUID(),
    '',
    'x',
    '../../etc/passwd',
    `${randomUUID()}x`,
    "' or 1=1 --",
    '0'.repeat(36),
    'ü'.repeat(36),
    '\u0000',
  ].flatMap((queueId) =>
    [RETRIEVE, COMPLETE].map((path) => ({
      ...json(`${path} of ${JSON.stringify(queueId)}`, { model: MODEL, queue_id: queueId }, INVALID_ID),
      path,
    })),
  ),
  ...[5, null, {}, [randomUUID()]].map((queueId) => ({
    ...json(`retrieve of ${JSON.stringify(queueId)}`, { model: MODEL, queue_id: queueId }, invalid('queue_id')),
    path: RETRIEVE,
  })),
  { ...json('retrieve of nothing', { model: MODEL }, invalid('queue_id')), path: RETRIEVE },
  {
    ...json('retrieve without model', { queue_id: randomUUID() }, { error: 'model is required' }),
    path: RETRIEVE,
  },
  {
    ...json('complete with an unknown field', { model: MODEL, queue_id: randomUUID(), force: true }, INVALID),
    path: COMPLETE,
  },
];

/** Invalid requests of the speech routes with a valid recording, each with its documented answer. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { JFK } from '../engines/media/recordings.ts';
import type { BadRequest } from './badRequests.ts';
import { multipart, type Part } from './multipart.ts';

export const TRANSCRIPTIONS = '/audio/transcriptions';
export const VOICES = '/audio/voices';
const SPEECH = '/audio/speech';
export const TRANSCRIBER = 'local-transcribe';
export const SPEAKER = 'local-speech-sync';
/** Voice cloning model of a service that is not reachable. */
export const CLONER = 'tts-chatterbox-hd';

const MEGABYTE = 1_048_576;
const RECORDING = readFileSync(JFK);
const INVALID = { error: 'Invalid request parameters' };
const WORDS = { error: expect.stringMatching(/\w+ \w+/) };
const NO_FILE = { error: 'No audio file provided' };
const NO_TYPE = { error: 'The file is of no known audio type.' };

function invalid(field: string): unknown {
  return { ...INVALID, details: { [field]: { _errors: [expect.any(String)] } } };
}

function speech(name: string, fields: object, body: unknown, status = 400): BadRequest {
  const json = { model: SPEAKER, input: 'The fare is paid.', ...fields };
  return { name: `${SPEECH}: ${name}`, path: SPEECH, call: { json }, status, body };
}

export const SPEECHES: BadRequest[] = [
  speech('no input', { input: undefined }, invalid('input')),
  speech('an empty input', { input: '' }, invalid('input')),
  speech('an input that is a number', { input: 7 }, invalid('input')),
  speech('only spaces', { input: ' \n\t ' }, WORDS),
  speech('only emojis', { input: '😀🚀👩‍👩‍👧' }, WORDS),
  speech('only signs', { input: '... !!! ---' }, WORDS),
  speech('only control characters', { input: '\u0000\u0001\u001b' }, WORDS),
  speech('4,097 characters', { input: `${'a '.repeat(2_048)}a` }, invalid('input')),
  speech('100,000 characters', { input: 'word '.repeat(20_000) }, invalid('input')),
  speech('200 kB', { input: 'word '.repeat(40_000) }, WORDS, 413),
  speech('a voice that there is not', { voice: 'nobody' }, invalid('voice')),
  speech('an empty voice', { voice: '' }, invalid('voice')),
  speech('a cloned voice that there is not', { voice: `vv_${'0'.repeat(32)}` }, invalid('voice')),
  speech('half a handle', { voice: 'vv_12' }, invalid('voice')),
  speech('a voice that is a path', { voice: '../../etc/passwd' }, invalid('voice')),
  speech('a format that there is not', { response_format: 'ogg' }, invalid('response_format')),
  speech('a speed of 0.24', { speed: 0.24 }, invalid('speed')),
  speech('a speed of 4.01', { speed: 4.01 }, invalid('speed')),
  speech('a speed that is a word', { speed: 'fast' }, invalid('speed')),
  speech('streaming that is a word', { streaming: 'yes' }, invalid('streaming')),
  speech(
    'a language that is not spoken',
    { language: 'xx' },
    {
      details: { language: { _errors: [expect.any(String)] } },
    },
  ),
  speech('a temperature of 2.1', { temperature: 2.1 }, invalid('temperature')),
  speech('a top_p of 1.1', { top_p: 1.1 }, invalid('top_p')),
  speech('a style of 501 characters', { prompt: 'x'.repeat(501) }, invalid('prompt')),
  speech('an unknown field', { pitch: 2 }, INVALID),
  speech('an unknown model', { model: 'no-such-model' }, WORDS, 404),
  speech('a model of transcripts', { model: TRANSCRIBER }, invalid('model')),
  speech('a model that is a number', { model: 5 }, WORDS),
  {
    name: `${SPEECH}: a form`,
    path: SPEECH,
    call: multipart([
      { name: 'model', value: SPEAKER },
      { name: 'input', value: 'Hello there.' },
    ]),
    ...{ status: 400, body: WORDS },
  },
  {
    name: `${SPEECH}: JSON that breaks off`,
    path: SPEECH,
    call: { raw: { bytes: Buffer.from('{"input":"Hel'), contentType: 'application/json' } },
    ...{ status: 400, body: WORDS },
  },
];

const field = (name: string, value: string): Part => ({ name, value });
const MODEL = field('model', TRANSCRIBER);
const file = (more: Partial<Part> = {}): Part => ({
  ...{ name: 'file', filename: 'jfk.flac', type: 'audio/flac', value: RECORDING },
  ...more,
});

function sent(name: string, parts: readonly Part[], body: unknown, status = 400): BadRequest {
  return { name: `${TRANSCRIPTIONS}: ${name}`, path: TRANSCRIPTIONS, call: multipart(parts), status, body };
}

function cloned(name: string, parts: readonly Part[], body: unknown, status = 400): BadRequest {
  return { name: `${VOICES}: ${name}`, path: VOICES, call: multipart(parts), status, body };
}

const large = (bytes: number) => file({ filename: 'a.wav', type: 'audio/wav', value: Buffer.alloc(bytes) });
const CLONER_FIELD = field('model', CLONER);

export const RECORDING_FORMS: BadRequest[] = [
  sent('no file', [MODEL], NO_FILE),
  sent('a file of another name', [MODEL, file({ name: 'audio' })], WORDS),
  sent('a field in place of the file', [MODEL, field('file', 'RIFF')], WORDS),
  sent('two files', [MODEL, file(), file()], WORDS),
  sent('a file of no name', [MODEL, { value: RECORDING, filename: 'a.flac' }], WORDS),
  sent('an empty file', [MODEL, file({ value: '' })], WORDS),
  sent('a recording said to be a picture', [MODEL, file({ filename: 'a.png', type: 'image/png' })], NO_TYPE),
  sent('a recording said to be a page', [MODEL, file({ filename: 'a.html', type: 'text/html' })], NO_TYPE),
  sent('a recording said to be a text', [MODEL, file({ filename: 'a.txt', type: '' })], NO_TYPE),
  sent('an unknown format', [MODEL, field('response_format', 'srt'), file()], invalid('response_format')),
  sent('timestamps that are a word', [MODEL, field('timestamps', 'yes'), file()], invalid('timestamps')),
  sent('a language of three letters', [MODEL, field('language', 'eng'), file()], invalid('language')),
  sent('the model twice', [MODEL, MODEL, file()], WORDS),
  sent('an empty model', [field('model', ''), file()], { error: 'model is required' }),
  sent('an unknown model', [field('model', 'no-such-model'), file()], WORDS, 404),
  sent('a model of speech', [field('model', SPEAKER), file()], invalid('model')),
  sent('25 MB and a byte', [MODEL, large(25 * MEGABYTE + 1)], { code: 'PAYLOAD_TOO_LARGE' }, 413),
  sent('40 MB', [MODEL, large(40 * MEGABYTE)], { code: 'PAYLOAD_TOO_LARGE' }, 413),
  {
    name: `${TRANSCRIPTIONS}: no boundary`,
    path: TRANSCRIPTIONS,
    call: multipart([MODEL, file()], { contentType: 'multipart/form-data' }),
    ...{ status: 400, body: WORDS },
  },
  {
    name: `${TRANSCRIPTIONS}: no end`,
    path: TRANSCRIPTIONS,
    call: multipart([MODEL, file()], { end: '' }),
    ...{ status: 400, body: WORDS },
  },
  {
    name: `${TRANSCRIPTIONS}: JSON`,
    path: TRANSCRIPTIONS,
    call: { json: { model: TRANSCRIBER, file: 'RIFF' } },
    ...{ status: 400, body: NO_FILE },
  },
  {
    name: `${TRANSCRIPTIONS}: the recording as the body`,
    path: TRANSCRIPTIONS,
    call: { raw: { bytes: Buffer.from(RECORDING), contentType: 'audio/flac' } },
    ...{ status: 400, body: NO_FILE },
  },
  cloned('no file', [CLONER_FIELD], NO_FILE),
  cloned('a sample that is a text', [CLONER_FIELD, file({ value: 'This is a text.' })], WORDS),
  cloned('an empty sample', [CLONER_FIELD, file({ value: '' })], WORDS),
  cloned('an unknown field', [CLONER_FIELD, field('name', 'Ann'), file()], INVALID),
  cloned('a model that does not clone', [field('model', SPEAKER), file()], invalid('model')),
  cloned('a model of transcripts', [MODEL, file()], invalid('model')),
  cloned('25 MB and a byte', [CLONER_FIELD, large(25 * MEGABYTE + 1)], { code: 'PAYLOAD_TOO_LARGE' }, 413),
];

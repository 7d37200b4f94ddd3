/** Outcomes of a job by fal's delivery of its output. */

import { type FalPlan, fal, forGood, once, reply } from './falService.ts';
import { FILM, FILMED, PAGE, PICTURE, SONG, STORED } from './media.ts';
import { failed, type OutcomeRow, TIMED_OUT } from './row.ts';
import { DEADLINE_MS } from './timing.ts';

const NO_OUTPUT = failed('The media service delivered no usable output.');
const NOT_FETCHED = failed('The provider did not deliver a usable output.');
const UNUSABLE = failed('The provider did not deliver a usable recording.');
const MAX_BYTES = 200 * 1024 * 1024;

const at = (url: string): FalPlan => ({
  does(stub) {
    stub.result = { status: 200, body: { audio: { url } } };
  },
});

/** Pieces of which the last comes after the job's deadline. */
const LATE = { kind: 'pieces', bytes: SONG, pieces: 50, everyMs: (DEADLINE_MS + 2_000) / 50 } as const;

export const FAL_OUTPUTS: readonly OutcomeRow[] = [
  fal('has no output where it said', NOT_FETCHED, once('output', reply(404, PAGE))),
  fal('removed the output', NOT_FETCHED, once('output', reply(410, PAGE))),
  fal('cannot deliver now', STORED, once('output', reply(500, PAGE))),
  fal('refuses to deliver once', STORED, once('output', reply(403, PAGE))),
  fal('delivers nothing', NO_OUTPUT, once('output', reply(200, ''))),
  fal('delivers a page', NO_OUTPUT, once('output', reply(200, PAGE))),
  fal('delivers a picture as audio', NO_OUTPUT, {
    ...once('output', reply(200, PICTURE, { 'content-type': 'audio/mpeg' })),
  }),
  fal('delivers audio as a page', STORED, once('output', reply(200, SONG, { 'content-type': 'text/html' }))),
  fal('delivers audio for a film', NO_OUTPUT, { ...once('output', reply(200, SONG)), kind: 'video' }),
  fal('delivers a film for audio', UNUSABLE, once('output', reply(200, FILM))),
  fal('delivers half of a film', NO_OUTPUT, {
    ...once('output', reply(200, FILM.subarray(0, FILM.length / 2))),
    kind: 'video',
  }),
  fal('breaks off its delivery once', STORED, once('output', { kind: 'cut', body: 'half' })),
  fal('breaks off every delivery', TIMED_OUT, forGood('output', { kind: 'cut', body: 'half' })),
  fal('hangs up on its delivery once', FILMED, { ...once('output', { kind: 'destroy' }), kind: 'video' }),
  fal('is silent instead of delivering once', STORED, once('output', { kind: 'hang' })),
  fal('announces more than a recording can have', NOT_FETCHED, {
    ...once('output', reply(200, SONG, { 'content-length': String(MAX_BYTES + 1) })),
  }),
  fal('delivers slowly', STORED, once('output', { kind: 'pieces', bytes: SONG, pieces: 10, everyMs: 300 })),
  fal('delivers for ever', TIMED_OUT, forGood('output', { kind: 'pieces', pieces: 1, everyMs: 500 })),
  fal('delivers after the job is over', TIMED_OUT, forGood('output', LATE)),
  fal('redirects to a private address', TIMED_OUT, {
    ...forGood('output', reply(302, '', { location: 'http://10.0.0.8/a.mp3' })),
  }),
  fal('names an output on this machine', NOT_FETCHED, at('http://127.0.0.1:1/a.mp3')),
  fal('names an output on a private network', NOT_FETCHED, at('https://10.0.0.8/a.mp3')),
  fal('names an output in a file', NOT_FETCHED, at('file:///etc/passwd')),
  fal('names an output that is no address', NOT_FETCHED, at('nowhere')),
];

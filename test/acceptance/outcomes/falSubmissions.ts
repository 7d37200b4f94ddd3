/** Outcomes of a job by fal's answer to its submission. */
import { fal, fields, forGood, once, reply, times } from './falService.ts';
import { FILMED, GARBAGE, PAGE, STORED } from './media.ts';
import { failed, LOST, OFFLINE, type OutcomeRow, refusedFilm, refusedPrompt, TIMED_OUT, wrong } from './row.ts';
import { MAX_POLLS } from './timing.ts';

const FAILED = failed('The media service failed.');
const NOT_TAKEN = { accepted: 0 } as const;
/** Repeated submissions come after growing pauses. */
const ALL_POLLS = { mostAsked: MAX_POLLS } as const;
const RETRIED = { mostAsked: 2 } as const;

export const FAL_SUBMISSIONS: readonly OutcomeRow[] = [
  fal('takes the order', STORED),
  fal('takes the order of a film', FILMED, { kind: 'video' }),
  fal('refuses the order with words', wrong('The prompt is odd'), {
    ...once('submit', reply(400, { detail: 'The prompt is odd' })),
    ...NOT_TAKEN,
  }),
  fal('refuses the order without words', FAILED, { ...once('submit', reply(400, PAGE)), ...NOT_TAKEN }),
  fal('does not accept our key', OFFLINE, { ...once('submit', reply(401, { detail: 'no' })), ...NOT_TAKEN }),
  fal('wants to be paid first', OFFLINE, { ...once('submit', reply(402, { detail: 'no' })), ...NOT_TAKEN }),
  fal('locked our account', OFFLINE, {
    ...NOT_TAKEN,
    does(stub) {
      stub.locked = true;
    },
  }),
  fal('does not know the model', OFFLINE, {
    ...once('submit', reply(404, { detail: 'Application not found' })),
    ...NOT_TAKEN,
  }),
  fal('stands behind a page that is not there', FAILED, {
    ...once('submit', reply(404, PAGE)),
    ...NOT_TAKEN,
  }),
  fal('gives up waiting for the order, once', STORED, { ...once('submit', reply(408, {})), ...RETRIED }),
  fal('finds the order too large', wrong('Too large'), {
    ...once('submit', reply(413, { detail: 'Too large' })),
    ...NOT_TAKEN,
  }),
  fal('stands behind a gateway that finds the order too large', FAILED, {
    ...once('submit', reply(413, PAGE)),
    ...NOT_TAKEN,
  }),
  fal('refuses a prompt under its content policy', refusedPrompt('prompt: Flagged'), {
    ...once('submit', reply(422, fields('content_policy_violation', 'Flagged'))),
    ...NOT_TAKEN,
  }),
  fal('refuses a film under its content policy', refusedFilm('prompt: Flagged'), {
    ...once('submit', reply(422, fields('content_policy_violation', 'Flagged'))),
    ...NOT_TAKEN,
    kind: 'video',
  }),
  fal('finds a field wrong', wrong('prompt: Too short'), {
    ...once('submit', reply(422, fields('string_too_short', 'Too short'))),
    ...NOT_TAKEN,
  }),
  fal('is too busy twice and says no time', STORED, {
    ...times(2, 'submit', reply(429, {})),
    mostAsked: 3,
  }),
  fal('is too busy and says for how long', STORED, {
    ...once('submit', reply(429, {}, { 'retry-after': '1' })),
    ...RETRIED,
  }),
  fal('is too busy for good', TIMED_OUT, { ...forGood('submit', reply(429, {})), ...NOT_TAKEN, ...ALL_POLLS }),
  fal('is too busy for good and asks to be asked at once', TIMED_OUT, {
    ...forGood('submit', reply(429, {}, { 'retry-after': '0' })),
    ...NOT_TAKEN,
    ...ALL_POLLS,
  }),
  fal('is too busy for an hour', TIMED_OUT, {
    ...forGood('submit', reply(429, {}, { 'retry-after': '3600' })),
    ...NOT_TAKEN,
  }),
  fal('fails', FAILED, { ...once('submit', reply(500, { detail: 'no' })), ...NOT_TAKEN }),
  fal('fails with a page', FAILED, { ...once('submit', reply(500, PAGE)), ...NOT_TAKEN }),
  fal('stands behind a gateway that fails', LOST, { ...once('submit', reply(502, PAGE)), ...NOT_TAKEN }),
  fal('is overloaded once', STORED, { ...once('submit', reply(503, { detail: 'later' })), ...RETRIED }),
  fal('stands behind a gateway without a server', LOST, {
    ...once('submit', reply(503, PAGE)),
    ...NOT_TAKEN,
  }),
  fal('sends the order elsewhere', FAILED, {
    ...once('submit', reply(302, '', { location: 'http://127.0.0.1:1/' })),
    ...NOT_TAKEN,
  }),
  fal('is not there at first', STORED, { refusesForMs: 4_000 }),
  fal('is not there', TIMED_OUT, { refusesForMs: Number.POSITIVE_INFINITY, ...NOT_TAKEN }),
  fal('hangs up before it takes the order', LOST, {
    ...once('submit', { kind: 'reset' }),
    ...NOT_TAKEN,
  }),
  fal('hangs up after it took the order', LOST, once('submit', { kind: 'destroy' })),
  fal('takes the order in silence', LOST, once('submit', { kind: 'hang' })),
  fal('breaks off its answer', LOST, once('submit', { kind: 'cut', body: '{"request_id":' })),
  fal('answers a megabyte of garbage', LOST, { ...once('submit', reply(200, GARBAGE)), ...NOT_TAKEN }),
  fal('answers a page', LOST, { ...once('submit', reply(200, PAGE)), ...NOT_TAKEN }),
  fal('answers broken JSON', LOST, { ...once('submit', reply(200, '{"request_id":"a')), ...NOT_TAKEN }),
  fal('answers JSON of another shape', LOST, { ...once('submit', reply(200, [1, 2])), ...NOT_TAKEN }),
  fal('answers nothing', LOST, { ...once('submit', reply(200, '')), ...NOT_TAKEN }),
  fal('answers an id that is a path', LOST, {
    ...once('submit', reply(200, { request_id: '../../admin' })),
    ...NOT_TAKEN,
  }),
  fal('answers the id of no order', failed('The media service failed.'), {
    ...once('submit', reply(200, { request_id: 'nobody-knows-it' })),
    ...NOT_TAKEN,
  }),
];

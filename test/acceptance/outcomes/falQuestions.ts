/** Outcomes of a job by fal's answers to status requests. */
import type { OrderStep } from '../../stubs/fal/fal.ts';
import { ending, type FalPlan, fal, fields, forGood, once, reply, times } from './falService.ts';
import { FILMED, GARBAGE, PAGE, STORED } from './media.ts';
import { always, failed, OFFLINE, type OutcomeRow, refusedFilm, refusedPrompt, TIMED_OUT, wrong } from './row.ts';

const FAILED = failed('The media service failed.');
const NO_OUTPUT = failed('The media service delivered no usable output.');
const NO_SUCH_ORDER = reply(404, { detail: 'Request not found', status: 'NOT_FOUND' });

const steps = (...all: OrderStep[]): FalPlan => ({
  does(stub) {
    stub.steps = all;
  },
});
const log = (...logs: string[]): OrderStep => ({ status: 'IN_PROGRESS', logs });

export const FAL_QUESTIONS: readonly OutcomeRow[] = [
  fal('has the order wait and works on it', STORED, steps({ status: 'IN_QUEUE', queuePosition: 4 }, log())),
  fal('names a status that nobody knows', STORED, steps({ status: 'PONDERING' }, { status: 'PONDERING' })),
  fal('goes back to a status before', FILMED, {
    ...steps(log('90%|#########'), { status: 'IN_QUEUE' }, log('10%|#')),
    kind: 'video',
  }),
  fal('says percentages that are none', STORED, steps(log('999%|#'), log('-5%|#'), log('NaN%|#', '100%|#'))),
  fal('works for ever', TIMED_OUT, steps(...always<OrderStep>(log('50%|#####')))),
  fal('answers about another order once', STORED, steps({ status: 'COMPLETED', requestId: 'another' })),
  fal('does not know the order any more', FAILED, forGood('status', NO_SUCH_ORDER)),
  fal('stands behind a page that is not there, once', STORED, once('status', reply(404, PAGE))),
  fal('stands behind a page that refuses, once', STORED, once('status', reply(403, PAGE))),
  fal('is asked too often', STORED, once('status', reply(429, {}, { 'retry-after': '1' }))),
  fal('fails three times when it is asked', STORED, times(3, 'status', reply(500, { detail: 'Oh' }))),
  fal('fails three times with a page', STORED, times(3, 'status', reply(500, PAGE))),
  fal('stands behind a gateway that fails three times', STORED, times(3, 'status', reply(502, PAGE))),
  fal('fails whenever it is asked', TIMED_OUT, forGood('status', reply(500, PAGE))),
  fal('withdraws our key while it works', OFFLINE, forGood('status', reply(401, { detail: 'no' }))),
  fal('is silent once', STORED, once('status', { kind: 'hang' })),
  fal('hangs up twice', STORED, times(2, 'status', { kind: 'destroy' })),
  fal('breaks off its status', STORED, once('status', { kind: 'cut', body: '{"status":' })),
  fal('says its status in a page', STORED, once('status', reply(200, PAGE))),
  fal('says its status in a list', STORED, once('status', reply(200, []))),
  fal('says its status in a megabyte of garbage', STORED, times(2, 'status', reply(200, GARBAGE))),
  fal('is done without an output', NO_OUTPUT, ending(200, {})),
  fal('is done with an empty list', NO_OUTPUT, ending(200, { audios: [] })),
  fal('is done with an output of another kind', NO_OUTPUT, ending(200, { video: 'https://host/v.mp4' })),
  fal('is done with a page', NO_OUTPUT, ending(200, PAGE)),
  fal('is done with two outputs', STORED, {
    does(stub) {
      const url = `${stub.baseUrl}/outputs/first.mp3`;
      stub.result = { status: 200, body: { audios: [{ url }, { url: `${stub.baseUrl}/none` }] } };
    },
  }),
  fal('hangs up on the result once', STORED, once('result', { kind: 'destroy' })),
  fal('stands behind a gateway that fails before the result', STORED, once('result', reply(502, PAGE))),
  fal('lost the result', FAILED, forGood('result', NO_SUCH_ORDER)),
  fal('ends with a failure of its model', FAILED, ending(500, fields('internal_server_error', 'Oh'))),
  fal('ends with a failure without a name', FAILED, ending(500, { detail: 'Internal Server Error' })),
  fal('ends with a field that is wrong', wrong('prompt: Too long'), ending(422, fields('too_long', 'Too long'))),
  fal('ends with a prompt refused', refusedPrompt('prompt: Flagged'), {
    ...ending(422, fields('content_policy_violation', 'Flagged')),
  }),
  fal('ends with a film refused', refusedFilm('prompt: Flagged'), {
    ...ending(422, fields('content_policy_violation', 'Flagged')),
    kind: 'video',
  }),
  fal('cancelled the order', FAILED, ending(400, { detail: 'No', error_type: 'request_cancelled' })),
];

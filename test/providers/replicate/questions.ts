/** Outcomes of polling an accepted order. */
import { expect } from 'vitest';
import { STUB_VIDEO } from '../../stubs/smallMedia.ts';
import { film } from './callReplicate.ts';
import { answers, ended, mp3, POLL, type Row, refused, succeeded, words } from './plans.ts';

export const QUESTIONS: Row[] = [
  {
    when: 'is processed',
    plan: ended({ status: 'processing', logs: 'a 5% start\n 42%|████ | 21/50' }),
    outcome: { status: 'running', percent: 42 },
  },
  {
    when: 'is told in the fewest words',
    plan: answers(POLL, 200, { id: `p${'1'.padStart(25, '0')}`, status: 'processing' }),
    outcome: { status: 'running' },
  },
  {
    when: 'is nearly done',
    plan: ended({ status: 'processing', logs: '100%|█| 50/50' }),
    outcome: { status: 'running', percent: 99 },
  },
  {
    when: 'is back at its beginning',
    plan: (stub) => {
      stub.moments = [{ status: 'processing', logs: '50%' }, { status: 'starting' }];
    },
    outcome: { status: 'running' },
  },
  {
    when: 'has a status nobody knows',
    plan: ended({ status: 'queued_elsewhere' }),
    outcome: { status: 'running' },
  },
  {
    when: 'failed',
    plan: ended({ status: 'failed', error: 'CUDA out of memory for "my secret" (E1001)' }),
    outcome: refused('failed', {
      message: 'The provider failed.',
      detail: `prediction p${'1'.padStart(25, '0')} failed E1001`,
    }),
  },
  { when: 'failed without a word', plan: ended({ status: 'failed' }), outcome: refused('failed') },
  {
    when: 'was refused for its content',
    plan: ended({
      status: 'failed',
      error: 'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
    }),
    outcome: refused('content_policy'),
  },
  {
    when: 'was refused by the filter of its maker',
    plan: ended({ status: 'failed', error: 'the output video may contain sensitive information' }),
    outcome: refused('content_policy'),
  },
  {
    when: 'failed for a wrong input',
    plan: ended({ status: 'failed', error: 'Input validation error: the image cannot be read' }),
    outcome: refused('refused', { message: 'Input validation error: the image cannot be read' }),
  },
  { when: 'was cancelled at its deadline', plan: ended({ status: 'canceled' }), outcome: refused('failed') },
  { when: 'was aborted before it began', plan: ended({ status: 'aborted' }), outcome: refused('failed') },
  { when: 'succeeded without an output', plan: ended({ status: 'succeeded' }), outcome: refused('failed') },
  {
    when: 'succeeded and its output was removed',
    plan: ended({ status: 'succeeded', data_removed: true }),
    outcome: refused('failed', { detail: expect.stringContaining('removed') }),
  },
  {
    when: 'succeeded with words',
    plan: ended({ status: 'succeeded', output: 'hello Alice' }),
    outcome: refused('failed'),
  },
  {
    when: 'has its output at a private address',
    plan: ended({ status: 'succeeded', output: 'http://10.0.0.1/a.mp3' }),
    outcome: refused('failed'),
  },
  {
    when: 'has its output nowhere yet',
    plan: (stub) => {
      stub.moments = [{ status: 'starting' }, { status: 'succeeded', output: `${stub.deliveryUrl}/late.mp3` }];
    },
    outcome: { status: 'running' },
  },
  {
    when: 'delivers an empty file',
    plan: succeeded((at) => at, { body: Buffer.alloc(0) }),
    outcome: refused('failed'),
  },
  {
    when: 'delivers more audio than a song can be',
    plan: succeeded((at) => at, { body: mp3, announcedBytes: 200_000_001 }),
    outcome: refused('failed', { detail: expect.stringContaining('too large') }),
  },
  {
    when: 'delivers more video than a film can be',
    plan: succeeded((at) => at, { body: STUB_VIDEO, announcedBytes: 2_000_000_001 }),
    order: film,
    outcome: refused('failed', { detail: expect.stringContaining('too large') }),
  },
  {
    when: 'delivers half of its file',
    plan: succeeded((at) => at, { body: mp3, announcedBytes: mp3.length * 2, cut: true }),
    outcome: { status: 'running' },
  },
  {
    when: 'delivers a page',
    plan: succeeded((at) => at, { body: Buffer.from('<html>gone</html>'), contentType: 'audio/mpeg' }),
    outcome: refused('failed'),
  },
  {
    when: 'delivers audio instead of a video',
    plan: succeeded((at) => at, { body: mp3 }),
    order: film,
    outcome: refused('failed'),
  },
  {
    when: 'delivers an address',
    plan: succeeded((at) => at, { body: mp3 }),
    outcome: { status: 'done', output: { contentType: 'audio/mpeg' } },
  },
  {
    when: 'delivers a list',
    plan: succeeded((at) => [at, `${at}/other`], { body: mp3 }),
    outcome: { status: 'done' },
  },
  {
    when: 'delivers an object with a cover beside it',
    plan: succeeded((at) => ({ cover: 'https://replicate.delivery/c.png', audio: { url: at } }), {
      body: mp3,
      name: '/out/a.mp3',
    }),
    outcome: { status: 'done' },
  },
  {
    when: 'delivers a video',
    plan: succeeded((at) => [at], { body: STUB_VIDEO }),
    order: film,
    outcome: { status: 'done', output: { contentType: 'video/mp4' } },
  },
  {
    when: 'is asked for with a token that was revoked',
    plan: answers(POLL, 401, { title: 'Unauthenticated' }),
    outcome: refused('credential'),
  },
  { when: 'is gone', plan: answers(POLL, 404, { detail: 'Not found' }), outcome: refused('failed') },
  {
    when: 'meets a 404 page of a gateway',
    plan: answers(POLL, 404, '<html>?</html>'),
    outcome: { status: 'unknown' },
  },
  { when: 'meets a failure of the service', plan: answers(POLL, 500, words), outcome: { status: 'unknown' } },
  {
    when: 'is asked for too often',
    plan: answers(POLL, 429, { detail: 'slow' }, { 'retry-after': '3' }),
    outcome: { status: 'busy', retryAfterMs: 3_000 },
  },
  { when: 'is answered with garbage', plan: answers(POLL, 200, 'null'), outcome: { status: 'unknown' } },
  {
    when: 'is answered for another one',
    plan: answers(POLL, 200, {
      id: 'other',
      status: 'succeeded',
      output: 'https://replicate.delivery/a.mp3',
    }),
    outcome: { status: 'unknown' },
  },
  {
    when: 'is not answered',
    plan: (stub) => {
      stub.faults.push({ at: POLL, fault: { kind: 'hang' } });
    },
    outcome: { status: 'unknown' },
  },
];

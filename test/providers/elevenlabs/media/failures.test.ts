/** Upstream failures of synchronous media, and the reason that each is mapped to. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UpstreamFailureReason } from '../../../../domain/upstreamFailure.ts';
import { silentMp3, testWav } from '../../../stubs/elevenlabsAudio.ts';
import type { StubBehaviour } from '../../../stubs/elevenlabsFaults.ts';
import { LONG_TIMEOUTS } from '../../../stubs/timeouts.ts';
import { failureOf } from '../../chatRequest.ts';
import { heard, type MediaDesk, openDesk, speechOrder, TEXT, transcriptionOrder } from './callMedia.ts';

let desk: MediaDesk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

type Case = [string, StubBehaviour, UpstreamFailureReason];

const page = '<html><body>Bad gateway</body></html>';
const own = (status: number, code: string): StubBehaviour => ({
  ...{ kind: 'reply', status },
  body: { detail: { type: 'some_error', code, status: code, message: `no: ${TEXT}` } },
});
const gateway = (status: number): StubBehaviour => ({ kind: 'reply', status, body: page });
const json = (body: unknown): StubBehaviour => ({
  ...{ kind: 'ok', contentType: 'application/json' },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const endless: StubBehaviour = {
  ...{ kind: 'endless', contentType: 'application/json', head: '{"text":"' },
  piece: Buffer.alloc(1e6, 'A'),
};
const half = {
  kind: 'cut',
  contentType: 'application/json',
  body: '{"text":"Hello there, all of you."}',
} as const;

const SHARED: Case[] = [
  ['400', own(400, 'invalid_parameters'), 'refused'],
  ['422', { kind: 'reply', status: 422, body: { detail: [{ loc: ['body', 'x'], msg: 'no' }] } }, 'refused'],
  ['400 of a proxy', gateway(400), 'failed'],
  ['400 content_policy_violation', own(400, 'content_policy_violation'), 'content_policy'],
  ['403 detected_captcha_voice', own(403, 'detected_captcha_voice'), 'content_policy'],
  ['401', own(401, 'invalid_api_key'), 'credential'],
  ['401 quota_exceeded', own(401, 'quota_exceeded'), 'credential'],
  ['403 of a proxy', gateway(403), 'credential'],
  ['400 model_not_found', own(400, 'model_not_found'), 'credential'],
  ['429 too many at once', own(429, 'concurrent_limit_exceeded'), 'rate_limited'],
  ['429 without words', gateway(429), 'rate_limited'],
  ['429 system_busy', own(429, 'system_busy'), 'overloaded'],
  ['500', own(500, 'something'), 'failed'],
  ['502 of a proxy', gateway(502), 'failed'],
  ['503', own(503, 'something'), 'overloaded'],
  ['504 of a proxy', gateway(504), 'timeout'],
  ['a redirect', { kind: 'reply', status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'garbage'],
  ['a page with 200', { kind: 'ok', contentType: 'text/html', body: page }, 'garbage'],
  ['nothing with 200', json(''), 'garbage'],
  ['another shape', json({ result: TEXT }), 'garbage'],
  ['a lost reply', { kind: 'accept-then-destroy' }, 'lost'],
  ['a closed door', { kind: 'destroy-at-once' }, 'lost'],
  ['silence', { kind: 'hang' }, 'timeout'],
];
const JSONS: Case[] = [
  ['a cut JSON', half, 'lost'],
  ['silence in the middle', { ...half, stalls: true }, 'timeout'],
  ['half of a JSON', json('{"text":"Hello'), 'garbage'],
  ['a gigabyte', endless, 'garbage'],
];
const TRANSCRIPTS: Case[] = [
  ['a text that is none', json({ text: 7, words: [] }), 'garbage'],
  ['no words', json({ text: 'Hello.' }), 'garbage'],
  ['a word without a text', json({ text: 'Hello.', words: [{ type: 'word', start: 0, end: 1 }] }), 'garbage'],
  ['a time before the start', json({ text: 'a', words: [{ type: 'word', text: 'a', start: -1, end: 1 }] }), 'garbage'],
];
const VOICES: Case[] = [
  ['a voice without an id', json({ requires_verification: false }), 'garbage'],
  ['an id that is a path', json({ voice_id: '../x' }), 'garbage'],
];
const audio = (body: Buffer | string, contentType = 'audio/mpeg'): StubBehaviour => ({
  ...{ kind: 'ok', contentType, body },
});
const SPEECH: Case[] = [
  ['no audio', audio(''), 'garbage'],
  ['WAV in place of MP3', audio(testWav(1)), 'garbage'],
  ['a page declared as audio', audio(page), 'garbage'],
  ['audio declared as JSON', audio(silentMp3(1), 'application/json'), 'garbage'],
  ['a cut body', { kind: 'cut-body' }, 'lost'],
  ['silence in the middle', { kind: 'silent-mid-body' }, 'timeout'],
  ['a gigabyte', { kind: 'gigabyte' }, 'garbage'],
];

describe.each<[string, () => Promise<unknown>, Case[]]>([
  ['speech', async () => await heard(await desk.speak()), [...SHARED, ...SPEECH]],
  ['a transcript', () => desk.transcribe({ timestamps: true }), [...SHARED, ...JSONS, ...TRANSCRIPTS]],
  ['a voice', () => desk.clone(), [...SHARED, ...JSONS, ...VOICES]],
])('failures in place of %s', (_operation, ask, cases) => {
  it.each(cases)('%s', async (_what, behaviour, reason) => {
    desk.stub.next.push(behaviour);
    const failure = await failureOf(ask());
    expect(failure).toMatchObject({ reason });
    const told = `${failure.message} ${String(failure.cause)}`;
    expect(told).not.toMatch(new RegExp(`${desk.stub.apiKey}|${TEXT}|html`));
    await expect.poll(() => desk.stub.asked()).toBe(1);
    const ours = reason === 'refused' || reason === 'content_policy';
    expect(failure.words !== undefined && failure.words !== '').toBe(ours);
    expect(desk.stub.written()).toBeLessThan(250e6);
  });
});

it('reports the retry delay of the service', async () => {
  desk.stub.next.push({
    ...own(429, 'rate_limit_exceeded'),
    headers: { 'retry-after': '7' },
  } as StubBehaviour);
  expect(await failureOf(desk.speak())).toMatchObject({ reason: 'rate_limited', retryAfterMs: 7_000 });
});

it('closes the connection when the client disconnects', async () => {
  const left = new AbortController();
  desk.stub.next.push({ kind: 'hang' });
  const asked = desk.open(LONG_TIMEOUTS).transcribe(transcriptionOrder(desk.recording), desk.context(left.signal));
  const failure = failureOf(asked);
  await expect.poll(() => desk.stub.forms.length).toBe(1);
  left.abort();
  expect(await failure).toMatchObject({ reason: 'lost' });
  await expect.poll(() => desk.stub.forms[0]?.aborted).toBe(true);
});

it('reports an unreachable service, to which nothing was sent', async () => {
  const media = desk.open();
  await desk.stub.close();
  expect(await failureOf(media.speak(speechOrder(), desk.context()))).toMatchObject({
    reason: 'unreachable',
  });
});

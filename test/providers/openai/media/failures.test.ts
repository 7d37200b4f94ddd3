/** Upstream failures of synchronous media, and the reason that each is mapped to. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UpstreamFailureReason } from '../../../../domain/upstreamFailure.ts';
import { silentMp3, testWav } from '../../../stubs/elevenlabsAudio.ts';
import type { StubBehaviour } from '../../../stubs/elevenlabsFaults.ts';
import { STUB_PNG } from '../../../stubs/openaiMedia.ts';
import { LONG_TIMEOUTS } from '../../../stubs/timeouts.ts';
import { failureOf } from '../../chatRequest.ts';
import {
  heard,
  imageEdit,
  imageOrder,
  type MediaDesk,
  openDesk,
  PROMPT,
  SECRET,
  speechOrder,
  transcriptionOrder,
} from './callMedia.ts';

let desk: MediaDesk;
beforeEach(async () => {
  desk = await openDesk();
});
afterEach(() => desk.close());

type Case = [string, StubBehaviour, UpstreamFailureReason];

const page = '<html><body>Bad gateway</body></html>';
const error = (fields: object) => ({ error: { message: `no: ${PROMPT} ${SECRET}`, param: null, ...fields } });
const reply = (status: number, fields?: object): StubBehaviour => ({
  ...{ kind: 'reply', status },
  body: fields === undefined ? page : error(fields),
});
const json = (body: unknown): StubBehaviour => ({
  ...{ kind: 'ok', contentType: 'application/json' },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const base64 = (bytes: Buffer) => ({ b64_json: bytes.toString('base64') });

const SHARED: Case[] = [
  ['400', reply(400, { type: 'invalid_request_error' }), 'refused'],
  ['400 of a proxy', reply(400), 'failed'],
  ['400 content_policy_violation', reply(400, { code: 'content_policy_violation' }), 'content_policy'],
  [
    '400 moderation_blocked',
    reply(400, { type: 'image_generation_user_error', code: 'moderation_blocked' }),
    'content_policy',
  ],
  ['401', reply(401, { code: 'invalid_api_key' }), 'credential'],
  ['403', reply(403, { code: 'unsupported_country_region_territory' }), 'credential'],
  ['404', reply(404, { code: 'model_not_found' }), 'no_model'],
  ['413 of a proxy', reply(413), 'refused'],
  ['429', reply(429, { code: 'rate_limit_exceeded' }), 'rate_limited'],
  ['429 insufficient_quota', reply(429, { code: 'insufficient_quota' }), 'credential'],
  ['429 billing_hard_limit_reached', reply(400, { code: 'billing_hard_limit_reached' }), 'credential'],
  ['500', reply(500, { type: 'server_error' }), 'failed'],
  ['502 of a proxy', reply(502), 'failed'],
  ['503', reply(503, { code: 'server_overloaded' }), 'overloaded'],
  ['504 of a proxy', reply(504), 'timeout'],
  ['a redirect', { ...reply(302), headers: { location: 'http://127.0.0.1:1/' } } as StubBehaviour, 'garbage'],
  ['a page with 200', { kind: 'ok', contentType: 'text/html', body: page }, 'garbage'],
  ['nothing with 200', json(''), 'garbage'],
  ['another shape', json({ result: PROMPT }), 'garbage'],
  ['an error with 200', json(error({ type: 'server_error' })), 'failed'],
  ['a cut JSON', { kind: 'cut', contentType: 'application/json', body: '{"data":[{"text":"x"}]}' }, 'lost'],
  ['a lost reply', { kind: 'accept-then-destroy' }, 'lost'],
  ['a closed door', { kind: 'destroy-at-once' }, 'lost'],
  ['silence', { kind: 'hang' }, 'timeout'],
  [
    'silence in the middle',
    { kind: 'cut', contentType: 'application/json', body: '{"data":[{"text":"x"}]}', stalls: true },
    'timeout',
  ],
];

const PICTURES: Case[] = [
  ['no picture', json({ data: [] }), 'garbage'],
  ['a picture too many', json({ data: [base64(STUB_PNG), base64(STUB_PNG)] }), 'garbage'],
  ['text in place of a picture', json({ data: [base64(Buffer.from('no picture at all'))] }), 'garbage'],
  ['audio in place of a picture', json({ data: [base64(testWav(1))] }), 'garbage'],
  ['an empty picture', json({ data: [{ b64_json: '' }] }), 'garbage'],
  ['what is no base64', json({ data: [{ b64_json: 'iVBORw0KGgo*AAA' }] }), 'garbage'],
  ['a picture that is null', json({ data: [{ b64_json: null }] }), 'garbage'],
  ['a picture that is a number', json({ data: [7] }), 'garbage'],
  ['a picture without an end', json('{"data":[{"b64_json":"iVBORw0KGgoAAAANSUhEUgAAAAE'), 'garbage'],
  [
    'a cut picture',
    { kind: 'cut', contentType: 'application/json', body: JSON.stringify({ data: [base64(STUB_PNG)] }) },
    'lost',
  ],
  ['an address of nothing', json({ data: [{ url: 'nowhere' }] }), 'garbage'],
  ['an address of ours', json({ data: [{ url: 'http://169.254.169.254/x.png' }] }), 'garbage'],
  [
    'a gigabyte of a picture',
    {
      kind: 'endless',
      contentType: 'application/json',
      head: '{"data":[{"b64_json":"',
      piece: Buffer.alloc(1e6, 'A'),
    },
    'garbage',
  ],
  [
    'a gigabyte of something else',
    { kind: 'endless', contentType: 'application/json', head: '{"data":"', piece: Buffer.alloc(1e6, ' ') },
    'garbage',
  ],
];

const TRANSCRIPTS: Case[] = [
  ['a text that is none', json({ text: 7 }), 'garbage'],
  ['words that are none', json({ text: 'Hello.', words: 'Hello.' }), 'garbage'],
  ['a word without a text', json({ text: 'Hello.', words: [{ start: 0, end: 1 }] }), 'garbage'],
  ['times that are none', json({ text: 'Hello.', words: [{ word: 'Hello', start: 'a', end: 1 }] }), 'garbage'],
  ['half of a JSON', json('{"text":"Hello'), 'garbage'],
  [
    'a gigabyte',
    { kind: 'endless', contentType: 'application/json', head: '{"text":"', piece: Buffer.alloc(1e6, 'A') },
    'garbage',
  ],
];

const audio = (body: Buffer | string, contentType = 'audio/mpeg'): StubBehaviour => ({
  ...{ kind: 'ok', contentType, body },
});
const SPEECH: Case[] = [
  ['no audio', audio(''), 'garbage'],
  ['half of a signature', audio(Buffer.from([0xff])), 'garbage'],
  ['WAV in place of MP3', audio(testWav(1)), 'garbage'],
  ['a page declared as audio', audio(page), 'garbage'],
  ['JSON declared as audio', audio('{"error":"no"}'), 'garbage'],
  ['audio declared as a page', audio(silentMp3(1), 'text/html'), 'garbage'],
];

const whole = async (provider: ReturnType<MediaDesk['open']>) =>
  await heard(await provider.speak(speechOrder(), await desk.context()));

describe.each<[string, () => Promise<unknown>, Case[]]>([
  ['new pictures', async () => desk.open().makeImages(imageOrder(), await desk.context()), [...SHARED, ...PICTURES]],
  [
    'an edit',
    async () => desk.open().editImage(imageEdit(desk.folder), await desk.context()),
    [...SHARED, ...PICTURES],
  ],
  [
    'a transcript',
    async () => desk.open().transcribe(transcriptionOrder(desk.folder, { timestamps: true }), await desk.context()),
    [...SHARED, ...TRANSCRIPTS],
  ],
  ['speech', async () => await whole(desk.open()), [...SHARED, ...SPEECH]],
])('failures in place of %s', (_operation, ask, cases) => {
  it.each(cases)('%s', async (_what, behaviour, reason) => {
    desk.stub.next.push(behaviour);
    const failure = await failureOf(ask());
    expect(failure).toMatchObject({ reason });
    const told = `${failure.message} ${String(failure.cause)}`;
    expect(told).not.toMatch(new RegExp(`${SECRET}|${PROMPT}|html`));
    expect(desk.stub.received.length).toBeLessThanOrEqual(1);
    const ours = reason === 'refused' || reason === 'content_policy';
    expect(failure.words !== undefined && failure.words !== '').toBe(ours);
    expect(desk.stub.writtenBytes()).toBeLessThan(250e6);
  });
});

describe('a speech stream that breaks after its start', () => {
  it.each<Case>([
    ['cut', { kind: 'cut-body' }, 'lost'],
    ['silent', { kind: 'silent-mid-body' }, 'timeout'],
    ['endless', { kind: 'gigabyte' }, 'garbage'],
  ])('fails its reader when it is %s', async (_what, behaviour, reason) => {
    desk.stub.next.push(behaviour);
    const speech = await desk.speak();
    expect(await failureOf(heard(speech))).toMatchObject({ reason });
  });
});

describe('an abort', () => {
  it.each(['makeImages', 'editImage', 'transcribe', 'speak'] as const)('closes the connection of %s', async (call) => {
    desk.stub.next.push({ kind: 'hang' });
    const left = new AbortController();
    const context = await desk.context(left.signal);
    const media = desk.open({ timeouts: LONG_TIMEOUTS });
    const asked = {
      makeImages: () => media.makeImages(imageOrder(), context),
      editImage: () => media.editImage(imageEdit(desk.folder), context),
      transcribe: () => media.transcribe(transcriptionOrder(desk.folder), context),
      speak: () => media.speak(speechOrder(), context),
    }[call]();
    const failure = failureOf(asked);
    await expect.poll(() => desk.stub.received.length).toBe(1);
    left.abort();
    expect(await failure).toMatchObject({ reason: 'lost' });
    await expect.poll(() => desk.stub.received[0]?.aborted).toBe(true);
  });

  it.each(['before its first byte was read', 'in the middle'])('stops a speech that is left %s', async (when) => {
    desk.stub.pieceMs = 50;
    const reader = (await desk.speak()).bytes[Symbol.asyncIterator]();
    if (when === 'in the middle') await reader.next();
    await reader.return?.();
    await expect.poll(() => desk.stub.received[0]?.aborted).toBe(true);
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ElevenLabsStub, startElevenLabsStub } from '../../stubs/elevenlabs.ts';
import { testWav } from '../../stubs/elevenlabsAudio.ts';
import type { StubBehaviour } from '../../stubs/elevenlabsFaults.ts';
import { SUGGESTED_PROMPT } from '../../stubs/elevenlabsRules.ts';
import { LONG_TIMEOUTS } from '../../stubs/timeouts.ts';
import { type Call, type Caller, createCaller, effect, music, speech } from './callElevenLabs.ts';

let stub: ElevenLabsStub;
let caller: Caller;
beforeAll(async () => {
  caller = await createCaller();
});
afterAll(() => caller.close());
beforeEach(async () => {
  stub = await startElevenLabsStub();
});
afterEach(() => stub.close());

const run = (call: Call) => caller.run(stub, call);
const runWith = (behaviour: StubBehaviour, call: Call) => caller.runWith(stub, behaviour, call);

/** Error reply in the service's format. */
const said = (status: number, detail: object, headers?: Record<string, string>): StubBehaviour => ({
  ...{ kind: 'reply', status, body: { detail } },
  ...(headers && { headers }),
});

describe('the outcome of an audio order', () => {
  const html = '<html>Bad gateway</html>';
  const outcomes: [string, Call, StubBehaviour | undefined, object][] = [
    [
      'music of somebody else',
      music({ prompt: "Like 'Bohemian Rhapsody'" }),
      undefined,
      { status: 'refused', reason: 'content_policy', suggestedPrompt: SUGGESTED_PROMPT },
    ],
    ['harmful music', music({ prompt: 'harmful' }), undefined, { reason: 'content_policy' }],
    [
      'a plan of somebody else',
      music({ prompt: 'in the style of' }),
      undefined,
      { reason: 'content_policy', detail: expect.stringContaining('bad_composition_plan') },
    ],
    ['a prompt too long', speech({ prompt: 'a'.repeat(10_001) }), undefined, { reason: 'refused' }],
    [
      'a prompt too long, told with 401',
      speech(),
      said(401, { status: 'max_character_limit_exceeded', message: 'Too long.' }),
      { reason: 'refused', message: 'Too long.' },
    ],
    ['a language that cannot be chosen', speech({ languageCode: 'de' }), undefined, { reason: 'refused' }],
    [
      'a speed out of range',
      speech({ speed: 2 }),
      undefined,
      { reason: 'refused', message: expect.stringContaining('1.2') },
    ],
    [
      'an unknown voice',
      speech({ voice: 'nobody' }),
      undefined,
      { reason: 'refused', message: expect.stringContaining('nobody') },
    ],
    [
      'a length out of range',
      music({ durationSeconds: 601 }),
      undefined,
      { reason: 'refused', message: expect.stringContaining('music_length_ms') },
    ],
    ['a model that the service has not', speech({ upstreamModel: 'eleven_none' }), undefined, { reason: 'credential' }],
    ['a plan without music', music(), said(402, { status: 'paid_plan_required' }), { reason: 'credential' }],
    [
      'a library voice that the plan has not',
      speech({ voice: 'library00000000000001' }),
      said(402, { code: 'payment_required', message: 'No.' }),
      { reason: 'refused' },
    ],
    ['an account without credits', effect(), said(401, { code: 'quota_exceeded' }), { reason: 'credential' }],
    [
      'an account without credits, told as a bad request',
      effect(),
      said(400, { code: 'bad_request', status: 'quota_exceeded' }),
      { reason: 'credential' },
    ],
    [
      'slots that are full',
      music(),
      said(429, { status: 'too_many_concurrent_requests' }, { 'maximum-concurrent-requests': '2' }),
      {
        status: 'busy',
        reason: 'concurrency',
        detail: expect.stringContaining('maximum-concurrent-requests=2'),
      },
    ],
    [
      'a service that is full',
      effect(),
      said(429, { status: 'system_busy' }),
      { status: 'busy', reason: 'overloaded' },
    ],
    [
      'too many in this minute',
      speech(),
      said(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '7' }),
      { status: 'busy', reason: 'rate_limited', retryAfterMs: 7_000 },
    ],
    ['503 in its own words', music(), said(503, { message: 'Later.' }), { status: 'busy', reason: 'overloaded' }],
    ['503 of a gateway', music(), { kind: 'reply', status: 503, body: html }, { status: 'unknown' }],
    ['500', music(), said(500, { message: 'Oops.' }), { status: 'refused', reason: 'failed' }],
    ['a reply that is lost', music(), { kind: 'accept-then-destroy' }, { status: 'unknown' }],
    ['a reply that never comes', speech(), { kind: 'hang' }, { status: 'unknown' }],
    ['audio that is cut', effect(), { kind: 'cut-body' }, { status: 'unknown' }],
    ['audio that stops', effect(), { kind: 'silent-mid-body' }, { status: 'unknown' }],
    ['HTML', music(), { kind: 'ok', contentType: 'audio/mpeg', body: html }, { reason: 'failed' }],
    ['JSON', music(), { kind: 'ok', contentType: 'application/json', body: '{}' }, { reason: 'failed' }],
    ['no byte', effect(), { kind: 'ok', contentType: 'audio/mpeg', body: '' }, { reason: 'failed' }],
    ['a WAV', speech(), { kind: 'ok', contentType: 'audio/wav', body: testWav(1) }, { reason: 'failed' }],
    ['audio without end', effect({ durationSeconds: 5 }), { kind: 'gigabyte' }, { reason: 'failed' }],
  ];
  it.each(outcomes)('%s', async (_, call, behaviour, expected) => {
    const outcome = await (behaviour === undefined ? run(call) : runWith(behaviour, call));
    expect(outcome).toMatchObject(expected);
    if (!('suggestedPrompt' in expected)) expect(outcome).not.toHaveProperty('suggestedPrompt');
    if (outcome.status === 'unknown') expect(outcome.files).toEqual([]);
    expect(stub.generated.length).toBeLessThanOrEqual(1);
  });

  it('is unknown after an abort while the service works, and not accepted before anything was sent', async () => {
    const abort = new AbortController();
    stub.next.push({ kind: 'hang' });
    const running = run({ ...music(), signal: abort.signal, options: { timeouts: LONG_TIMEOUTS } });
    await expect.poll(() => stub.generated.length).toBe(1);
    abort.abort();
    expect((await running).status).toBe('unknown');
    expect(await run({ ...music(), signal: AbortSignal.abort() })).toMatchObject({ status: 'busy' });
  });
});

describe('a suggested prompt', () => {
  const suggestion = async (prompt_suggestion: unknown): Promise<unknown> => {
    const detail = { code: 'bad_request', status: 'bad_prompt', message: 'No.', data: { prompt_suggestion } };
    const outcome = await runWith(said(400, detail), music());
    expect(outcome).toMatchObject({ status: 'refused', reason: 'content_policy', message: 'No.' });
    return 'suggestedPrompt' in outcome ? outcome.suggestedPrompt : undefined;
  };

  it('is one line of bounded length that ends in a whole character', async () => {
    expect(await suggestion(' A\nslow\u0000 waltz ')).toBe('A slow waltz');
    expect(await suggestion(`${'a'.repeat(4_999)}🎻 and more`)).toBe('a'.repeat(4_999));
  });

  it('does not hide the reason of the refusal when it is invalid', async () => {
    for (const none of [null, '', ' ', 7, ['a'], { text: 'a' }]) expect(await suggestion(none)).toBeUndefined();
    for (const data of ['text', 7, [], null]) {
      const outcome = await runWith(said(400, { status: 'bad_prompt', message: 'No.', data }), music());
      expect(outcome).toMatchObject({ reason: 'content_policy', message: 'No.' });
    }
  });
});

/** Outcomes of a job by the behaviour of ElevenLabs, which returns the recording in the order's response. */
import { type ElevenLabsStub, startElevenLabsStub } from '../../stubs/elevenlabs.ts';
import { silentMp3 } from '../../stubs/elevenlabsAudio.ts';
import type { StubBehaviour } from '../../stubs/elevenlabsFaults.ts';
import { SUGGESTED_PROMPT } from '../../stubs/elevenlabsRules.ts';
import { FILM, PAGE, SONG } from './media.ts';
import {
  always,
  type Ending,
  failed,
  LOST,
  OFFLINE,
  type OutcomeRow,
  type RowOptions,
  type RowService,
  refusedPrompt,
  TIMED_OUT,
  wrong,
} from './row.ts';
import { MAX_POLLS, TIMEOUTS } from './timing.ts';

interface ElevenLabsPlan extends RowOptions {
  next?: StubBehaviour[];
  settings?: Partial<ElevenLabsStub['settings']>;
  /** Key that the service expects in place of the configured one. */
  key?: string;
}

function elevenlabs(when: string, end: Ending, plan: ElevenLabsPlan = {}): OutcomeRow {
  const { kind = 'audio', prompt = 'calm rain, far away', accepted = 1, mostAsked = 1 } = plan;
  const start = () => startRow(plan);
  return { when, service: 'elevenlabs', kind, prompt, start, end, accepted, mostAsked };
}

function seldom(...given: Parameters<typeof elevenlabs>): OutcomeRow {
  return { ...elevenlabs(...given), seldom: true };
}

async function startRow({ next = [], settings, key }: ElevenLabsPlan): Promise<RowService> {
  const stub = await startElevenLabsStub();
  stub.next = next;
  if (key !== undefined) stub.apiKey = key;
  Object.assign(stub.settings, settings);
  return {
    entry: {
      kind: 'elevenlabs',
      baseUrl: stub.baseUrl,
      apiKeyEnv: 'OUTCOMES_ELEVENLABS_KEY',
      allowPrivateNetwork: true,
      timeouts: TIMEOUTS,
    },
    upstreamModel: 'music_v1',
    accepted: () => stub.generated.length,
    asked: () => stub.asked(),
    close: () => stub.close(),
  };
}

const reply = (status: number, body: unknown, headers: Record<string, string> = {}): StubBehaviour => ({
  kind: 'reply',
  ...{ status, body, headers },
});
const ok = (body: Buffer | string, contentType = 'audio/mpeg'): StubBehaviour => ({
  kind: 'ok',
  ...{ contentType, body },
});

/** The stub's audio for a prompt without a length. */
const MADE: Ending = { state: 'stored', bytes: silentMp3(10), contentType: 'audio/mpeg' };
const FAILED = failed('The audio service failed.');
const UNUSABLE = failed('The audio service answered no usable audio.');
const NOT_TAKEN = { accepted: 0 } as const;
const BUSY = reply(429, { detail: { status: 'system_busy', message: 'Heavy traffic' } });

export const ELEVENLABS_ROWS: readonly OutcomeRow[] = [
  elevenlabs('makes a recording', MADE),
  elevenlabs('does not accept our key', OFFLINE, { key: 'another', ...NOT_TAKEN }),
  elevenlabs('has no credit of ours left', OFFLINE, { settings: { quotaLeftSeconds: 0 }, ...NOT_TAKEN }),
  elevenlabs(
    'suggests another prompt',
    refusedPrompt('Your prompt appears to contain copyrighted material.', SUGGESTED_PROMPT),
    { prompt: 'Bohemian Rhapsody', ...NOT_TAKEN },
  ),
  elevenlabs('refuses a prompt', refusedPrompt('Your prompt violates our terms of service.'), {
    prompt: 'something harmful',
    ...NOT_TAKEN,
  }),
  elevenlabs('finds a field wrong', wrong('body.prompt: Too short'), {
    next: [reply(422, { detail: [{ loc: ['body', 'prompt'], msg: 'Too short' }] })],
    ...NOT_TAKEN,
  }),
  elevenlabs('is busy twice', MADE, { next: [BUSY, BUSY], mostAsked: 3 }),
  seldom('has no room for us and says for how long', MADE, {
    next: [reply(429, { detail: { code: 'concurrent_limit_exceeded' } }, { 'retry-after': '1' })],
    mostAsked: 2,
  }),
  elevenlabs('is busy for good', TIMED_OUT, { next: always(BUSY), ...NOT_TAKEN, mostAsked: MAX_POLLS }),
  seldom('fails', FAILED, { next: [reply(500, { detail: 'Oh' })], ...NOT_TAKEN }),
  seldom('fails with a page', FAILED, { next: [reply(500, PAGE)], ...NOT_TAKEN }),
  seldom('stands behind a gateway that fails', LOST, { next: [reply(502, PAGE)], ...NOT_TAKEN }),
  seldom('hangs up before it takes the order', LOST, {
    next: [{ kind: 'destroy-at-once' }],
    ...NOT_TAKEN,
  }),
  elevenlabs('hangs up after it took the order', LOST, { next: [{ kind: 'accept-then-destroy' }] }),
  seldom('takes the order in silence', LOST, { next: [{ kind: 'hang' }] }),
  elevenlabs('falls silent in the middle', LOST, { next: [{ kind: 'silent-mid-body' }] }),
  elevenlabs('breaks off in the middle', LOST, { next: [{ kind: 'cut-body' }] }),
  elevenlabs('sends a byte now and then', TIMED_OUT, { next: [{ kind: 'drip', everyMs: 500 }] }),
  elevenlabs('answers a page', UNUSABLE, { next: [ok(PAGE, 'text/html')] }),
  seldom('answers a page as audio', UNUSABLE, { next: [ok(PAGE)] }),
  seldom('answers nothing', UNUSABLE, { next: [ok('')] }),
  elevenlabs('answers audio as a page', UNUSABLE, { next: [ok(SONG, 'text/html')] }),
  elevenlabs('answers a film', UNUSABLE, { next: [ok(FILM)] }),
];

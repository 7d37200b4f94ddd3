/** Cloned voices: a handle for one account, model and number of days, without a copy of the sample. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UpstreamFailure } from '../../../domain/upstreamFailure.ts';
import { claimCloning, MAX_VOICES, MAX_VOICES_PER_DAY, purgeVoices } from '../../../infra/postgres/clonedVoices.ts';
import type { VoiceSample } from '../../../providers/shared/mediaProvider.ts';
import { ffmpeg, JFK, testFolder } from '../../engines/media/recordings.ts';
import { type SpeechWorld, startSpeechWorld } from './speechWorld.ts';

const folder = testFolder();
let world: SpeechWorld;
let sample: Buffer;

beforeAll(async () => {
  world = await startSpeechWorld();
  sample = cut(6, 'wav');
});
beforeEach(() => world.reset());
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

function cut(seconds: number, extension: string): Buffer {
  const path = join(folder, `sample-${seconds}.${extension}`);
  ffmpeg(['-i', JFK, '-t', String(seconds), path]);
  return readFileSync(path);
}

interface Sent {
  bytes?: Buffer;
  name?: string;
  model?: string;
  key?: string;
  headers?: Record<string, string>;
}

async function clone({ bytes = sample, name = 'me.wav', model, key = world.key, headers = {} }: Sent = {}) {
  const form = new FormData();
  if (model !== undefined) form.set('model', model);
  form.set('file', new Blob([bytes]), name);
  const response = await world.api.call('/audio/voices', { method: 'POST', body: form, key, headers });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, string>,
    retryAfter: Number(response.headers.get('retry-after')),
  };
}

const orders = () => world.asked.map(({ order }) => order);

async function speakAs(voice: string, { model = 'tts-chatterbox-hd', key = world.key } = {}) {
  const response = await world.api.call('/audio/speech', {
    ...{ method: 'POST', key, body: JSON.stringify({ model, voice, input: 'Hi' }) },
    headers: { 'content-type': 'application/json' },
  });
  return { status: response.status, text: await response.text() };
}

describe('a cloned voice', () => {
  it('is a handle with a price, and speaks by the name that the service gave it', async () => {
    const before = await world.spent();
    const { status, body } = await clone();
    expect([status, body]).toEqual([
      200,
      { id: expect.stringMatching(/^vv_[0-9a-f]{32}$/), model: 'tts-chatterbox-hd' },
    ]);
    expect(await world.spent()).toEqual([...before, 'tts-chatterbox-hd-voice-clone 50000000']);
    const { recording } = orders()[0] as VoiceSample;
    expect([recording.contentType, recording.seconds]).toEqual(['audio/wav', 6]);
    expect(() => readFileSync(recording.path)).toThrow('ENOENT');
    expect((await speakAs(body.id ?? '')).status).toBe(200);
    expect(orders()[1]).toMatchObject({ voice: 'service-voice-1' });
  });

  it('is unknown to another account, to another model and after its expiry', async () => {
    const { body } = await clone();
    const id = body.id ?? '';
    const { key } = await world.newAccount();
    expect(await speakAs(id, { key })).toMatchObject({
      status: 400,
      text: expect.stringContaining('no such'),
    });
    expect(await speakAs(id, { model: 'tts-listed' })).toMatchObject({
      ...{ status: 400, text: expect.stringContaining('tts-chatterbox-hd') },
    });
    const { sql } = world.api.opened.dependencies.core;
    const { rows } = await sql.query(
      'select extract(epoch from expires_at - created_at)::integer as life from cloned_voices where id = $1',
      [id],
    );
    expect(rows[0].life).toBe(7 * 86_400);
    await sql.query('update cloned_voices set expires_at = clock_timestamp() where id = $1', [id]);
    expect((await speakAs(id)).status).toBe(400);
    expect(await purgeVoices(sql, 500)).toBe(1);
    expect(await purgeVoices(sql, 500)).toBe(0);
  });

  it('is refused to an account with the maximum number of voices', async () => {
    const { key, accountId } = await world.newAccount();
    await world.api.opened.dependencies.core.sql.query(
      `insert into cloned_voices (id, account_id, model_id, service_voice, expires_at)
       select 'vv_' || lpad(to_hex(n), 32, '0'), $1, 'm', 'v', clock_timestamp() + interval '1 day'
         from generate_series(1, $2::integer) as n`,
      [accountId, MAX_VOICES],
    );
    expect((await clone({ key })).status).toBe(409);
    expect(world.asked).toEqual([]);
  });
});

describe('the daily limit', () => {
  it('lets ten samples of an account reach the service, also after a restart, and begins anew each UTC day', async () => {
    const { key, accountId } = await world.newAccount();
    for (let sent = 0; sent < MAX_VOICES_PER_DAY; sent += 1) {
      world.script.failure = sent === 3 ? new UpstreamFailure({ reason: 'failed', detail: 'x' }) : undefined;
      expect((await clone({ key })).status).toBe(sent === 3 ? 502 : 200);
    }
    const asked = world.asked.length;
    const refused = await clone({ key });
    expect(refused.status).toBe(429);
    expect(refused.body.customMessage).toContain('at most 10 voices cloned');
    expect(refused.retryAfter).toBeGreaterThan(0);
    expect(refused.retryAfter).toBeLessThanOrEqual(86_400);
    expect(world.asked).toHaveLength(asked);
    // The failed call and the refused one are not charged.
    expect(await world.spent(accountId)).toHaveLength(MAX_VOICES_PER_DAY - 1);
    expect(await world.held()).toBe(0);
    const {
      core: { sql },
      limits: { calls: limits },
    } = world.api.opened.dependencies;
    expect(await limits.limiter.refusals(accountId)).toMatchObject([{ rateLimitType: 'RPD' }]);
    await sql.query('update voice_cloning_days set day = day - 1 where account_id = $1', [accountId]);
    expect((await clone({ key })).status).toBe(200);
    const { rows } = await sql.query('select cloned from voice_cloning_days where account_id = $1', [accountId]);
    expect(rows).toEqual([{ cloned: 1 }]);
  });

  it('holds for twenty calls at once', async () => {
    const { sql } = world.api.opened.dependencies.core;
    const { accountId } = await world.newAccount();
    const claims = await Promise.all(Array.from({ length: 20 }, () => claimCloning(sql, accountId)));
    expect(claims.filter(({ isFree }) => isFree)).toHaveLength(MAX_VOICES_PER_DAY);
  });
});

describe('calls without a cloned voice', () => {
  it('in a dry run, which returns the price', async () => {
    const before = await world.spent();
    const { status, body } = await clone({ headers: { 'x-service-dry-run': 'true' } });
    expect([status, body]).toEqual([200, { object: 'dry_run', cost: { usd: 0.05, diem: 0.05 } }]);
    expect(world.asked).toEqual([]);
    expect(await world.spent()).toEqual(before);
  });

  it.each<[string, () => Sent, number]>([
    ['from less than the model needs', () => ({ bytes: cut(4, 'wav') }), 400],
    ['from a format that the model does not take', () => ({ bytes: cut(6, 'ogg'), name: 'me.ogg' }), 400],
    ['from what is no recording', () => ({ bytes: Buffer.from('words'.repeat(1_000)) }), 400],
    ['from an empty file', () => ({ bytes: Buffer.alloc(0) }), 400],
    ['by a model that does not clone', () => ({ model: 'tts-kokoro' }), 400],
    ['by a model that clones for chosen accounts', () => ({ model: 'tts-minimax-speech-02-hd' }), 403],
    ['by a model of another kind', () => ({ model: 'openai/whisper-large-v3' }), 400],
    ['by a model that nobody has', () => ({ model: 'tts-none' }), 404],
  ])('%s', async (_name, sent, status) => {
    expect((await clone(sent())).status).toBe(status);
    expect(world.asked).toEqual([]);
  });

  it('from a request without a file, or of another kind', async () => {
    const form = new FormData();
    form.set('model', 'tts-chatterbox-hd');
    const headers = { 'content-type': 'application/json' };
    for (const init of [{ body: form }, { body: '{}', headers }]) {
      const response = await world.api.call('/audio/voices', { method: 'POST', key: world.key, ...init });
      expect([response.status, await response.json()]).toEqual([400, { error: 'No audio file provided' }]);
    }
  });

  it('by a service that fails, or refuses the sample', async () => {
    world.script.failure = new UpstreamFailure({ reason: 'failed', detail: 'x' });
    expect((await clone()).status).toBe(502);
    world.script.failure = new UpstreamFailure({ reason: 'refused', detail: 'x', message: 'Too noisy' });
    expect(await clone()).toMatchObject({ status: 422, body: { error: 'Too noisy' } });
  });
});

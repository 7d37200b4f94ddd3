/** Invalid and unacceptable recordings: the documented refusal, no charge, and no request to the service. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BadSound, badSounds, encoding, sixHours, whole } from '../../engines/media/badSounds.ts';
import { JFK, testFolder } from '../../engines/media/recordings.ts';
import { spoofs } from '../../engines/media/spoofs.ts';
import { MAX_TURN_MS, measureStall } from '../../harness/stall.ts';
import { type SpeechWorld, startSpeechWorld } from './speechWorld.ts';

const folder = testFolder();
let world: SpeechWorld;
let canary: Server;
let hits = 0;

beforeAll(async () => {
  world = await startSpeechWorld();
  canary = createServer((_, response) => {
    hits += 1;
    response.end('EXTM3U');
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => world.reset());
afterAll(async () => {
  await world.close();
  canary.close();
  rmSync(folder, { recursive: true });
});

interface Bad extends BadSound {
  fields?: Record<string, string>;
}

async function send({ bytes, name = 'file.mp3', type = '', fields = {} }: Bad) {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set('file', new Blob([bytes], { type }), name);
  const response = await world.api.call('/audio/transcriptions', {
    ...{ method: 'POST', body: form, key: world.key },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function expectRefused(bad: Bad, status: number, words: RegExp): Promise<void> {
  const before = await world.spent();
  const { status: told, body } = await send(bad);
  expect([told, body.error]).toEqual([status, expect.stringMatching(words)]);
  expect([await world.spent(), await world.held(), world.asked]).toEqual([before, 0, []]);
}

const url = () => `http://127.0.0.1:${(canary.address() as AddressInfo).port}/secret`;

describe('a file that is no recording, refused with 400:', () => {
  it.each(badSounds(folder, url))('%s', async (_name, bad) => {
    await expectRefused(bad(), 400, /audio|file|video/i);
    expect(hits).toBe(0);
  });
});

describe('a recording with a wrong declared type, refused with 400:', () => {
  it.each<[string, Partial<Bad>]>([
    ['a picture by its type', { name: 'a.png', type: 'image/png' }],
    ['a text by its name', { name: 'a.txt' }],
    ['a page by both', { name: 'a.html', type: 'text/html; charset=utf-8' }],
    ['a program', { name: 'a.exe', type: 'application/x-msdownload' }],
  ])('%s', async (_name, more) => {
    await expectRefused({ bytes: readFileSync(JFK), ...more }, 400, /no known audio type/);
  });
});

describe('a malformed request, refused with 400:', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    ['a format of the answer that there is not', { response_format: 'srt' }, /Invalid request/],
    ['the verbose form', { response_format: 'verbose_json' }, /Invalid request/],
    ['timestamps that are no boolean', { timestamps: 'yes' }, /Invalid request/],
    ['a language that is none', { language: 'english' }, /Invalid request/],
    ['an empty model', { model: '' }, /model is required/],
    ['a model of another kind', { model: 'tts-kokoro' }, /Invalid request/],
  ])('%s', async (_name, fields, words) => {
    await expectRefused({ bytes: readFileSync(JFK), name: 'jfk.flac', fields }, 400, words);
  });

  it('no file, a field in its place, another kind of body, no body', async () => {
    const empty = new FormData();
    empty.set('model', 'openai/whisper-large-v3');
    const json = { 'content-type': 'application/json' };
    const inits = [{ body: empty }, { body: '{"file":"x"}', headers: json }, {}];
    for (const init of inits) {
      const response = await world.api.call('/audio/transcriptions', {
        ...{ method: 'POST', key: world.key, ...init },
      });
      expect([response.status, await response.json()]).toEqual([400, { error: 'No audio file provided' }]);
    }
  });
});

describe('a recording above the limits of size or length:', () => {
  it('more than 25 MB gives 413', async () => {
    const before = await world.spent();
    const { status, body } = await send({ bytes: Buffer.alloc(25 * 1024 * 1024 + 1), name: 'a.wav' });
    expect([status, body]).toEqual([
      413,
      { code: 'PAYLOAD_TOO_LARGE', error: 'File exceeds the maximum allowed size of 25 MB.' },
    ]);
    expect(await world.spent()).toEqual(before);
  });

  it('six hours of silence at 8 kbps give 422 soon, without blocking the event loop', async () => {
    const bytes = sixHours(folder);
    expect(bytes.length).toBeLessThan(25 * 1024 * 1024);
    let shortestMs = Number.POSITIVE_INFINITY;
    // The sender runs in this process, and its own time on a busy machine must not count.
    for (let attempt = 0; attempt < 3 && shortestMs >= MAX_TURN_MS; attempt += 1) {
      const stall = measureStall();
      await expectRefused({ bytes }, 422, /longer than 7200 seconds/);
      shortestMs = Math.min(shortestMs, stall.longestMs());
      stall.stop();
    }
    expect(shortestMs).toBeLessThan(MAX_TURN_MS);
  });
});

it('bills the decoded length, whatever length the file declares', async () => {
  for (const name of ['wav', 'flac', 'm4a', 'webm opus', 'vorbis', 'mp3']) {
    const original = whole(folder, name);
    for (const { field, file } of spoofs(encoding(name), original, 'shorter')) {
      const { status, body } = await send({ bytes: file, name: `a.${encoding(name).extension}` });
      const words = `${name} ${field} ${JSON.stringify(body)}`;
      expect([200, 400], words).toContain(status);
      if (status === 200) expect(body.duration, words).toBeGreaterThanOrEqual(2.98);
    }
  }
});

it('leaves nothing behind', async () => {
  await expect.poll(() => readdirSync(world.api.opened.dependencies.providers.folders.root)).toEqual([]);
});

/** Voice changer jobs over HTTP, with real processes and parts (AUDIO-3). */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { services } from '../harness/services.ts';
import { decodeSamples, fundamentalHz, secondsOf } from '../providers/local/pitch.ts';
import { fileOf } from './client.ts';
import { complete, isProcessing, outcomeOf, queueFile, queueIdOf, queueJson, retrieve, untilState } from './orders.ts';
import { toneWav } from './recordings.ts';
import {
  CLOUD,
  configuration,
  expectAudio,
  expectNothingLeft,
  farebox,
  filesUrl,
  JFK,
  LOCAL,
  order,
  short,
  stored,
  useVoiceChangerWorld,
} from './voiceChangerWorld.ts';

useVoiceChangerWorld();

describe('the quote', () => {
  it('charges each started minute, for numbers, fractions and digits', async () => {
    const quote = async (model: string, seconds: unknown) => {
      const json = { model, duration_seconds: seconds };
      return await farebox.account.api.post('/audio/voice-changer/quote', { json });
    };
    const prices: [string, unknown, unknown][] = [
      [LOCAL, 60, { quote: 0.05, duration_seconds: 60 }],
      [LOCAL, 61, { quote: 0.1, duration_seconds: 61 }],
      [LOCAL, 60.5, { quote: 0.1, duration_seconds: 60.5 }],
      [LOCAL, 0.2, { quote: 0.05, duration_seconds: 0.2 }],
      [LOCAL, '90', { quote: 0.1, duration_seconds: 90 }],
      [LOCAL, 600, { quote: 0.5, duration_seconds: 600 }],
      [CLOUD, 60, { quote: 0.35, duration_seconds: 60 }],
    ];
    for (const [model, seconds, body] of prices) expect((await quote(model, seconds)).body).toEqual(body);
    for (const seconds of [0, -1, 601, 1e300, '1e2', '-5', '', true, null, [60]]) {
      expect((await quote(LOCAL, seconds)).status, JSON.stringify(seconds)).toBe(400);
    }
  });
});

describe('a real recording, sent as a file', () => {
  it('is measured, charged, changed, stored, delivered, completed and deleted', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const quoted = await api.post('/audio/voice-changer/quote', {
      json: { model: LOCAL, duration_seconds: 11 },
    });
    const answer = await queueFile(api, { model: LOCAL, fields: { voice: 'alto' }, source: fileOf(JFK) });
    expect(answer.body).toEqual({
      model: LOCAL,
      queue_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'QUEUED',
      duration_seconds: 11,
    });
    const job = { model: LOCAL, queueId: queueIdOf(answer) };
    const early = await retrieve(api, job);
    expect(early.body).toEqual({
      status: 'PROCESSING',
      average_execution_time: expect.any(Number),
      execution_duration: expect.any(Number),
    });
    const audio = await outcomeOf(api, job);
    expectAudio(audio, LOCAL);
    expectChangedVoice(audio.bytes, 1.35);
    expect((await retrieve(api, job)).bytes.equals(audio.bytes)).toBe(true);
    expect((await complete(api, job)).body).toEqual({ success: true });
    const after = await retrieve(api, job);
    expect([after.status, typeof after.body.error]).toEqual([404, 'string']);
    expect((await complete(api, job)).body).toEqual({ success: true });
    expect(await farebox.objects()).toEqual([]);
    const paid = before - (await farebox.moneyOf(farebox.account));
    expect(Number(paid) / 1e9).toBe(quoted.body.quote);
    expect(await farebox.temporaryFiles()).toEqual([]);
  });

  it('gives the same voice for the same seed', async () => {
    const { api } = farebox.account;
    const take = async () => {
      const job = await order(LOCAL, { voice: 'robot', seed: '7', remove_background_noise: 'true' });
      const { bytes } = await outcomeOf(api, job);
      await complete(api, job);
      return bytes;
    };
    expect((await take()).equals(await take())).toBe(true);
  });
});

function expectChangedVoice(bytes: Buffer, pitchRatio: number): void {
  const file = path.join(services().folder, `${randomUUID()}.mp3`);
  writeFileSync(file, bytes);
  const [changed, source] = [decodeSamples(services().ffmpegPath, file), decodeSamples(services().ffmpegPath, JFK)];
  expect(Math.abs(secondsOf(changed) - 11)).toBeLessThan(0.2);
  expect(fundamentalHz(changed) / fundamentalHz(source)).toBeGreaterThan(pitchRatio * 0.93);
  expect(fundamentalHz(changed) / fundamentalHz(source)).toBeLessThan(pitchRatio * 1.07);
}

describe('a real recording, named by URL', () => {
  it('is fetched from an allowed host, and its URL is in no history and no log', async () => {
    const { api } = farebox.account;
    const before = await farebox.moneyOf(farebox.account);
    const answer = await queueJson(api, { model: LOCAL, audio_url: filesUrl, voice: 'bass', seed: 1 });
    expect(answer.body).toMatchObject({ status: 'QUEUED', duration_seconds: 11 });
    const job = { model: LOCAL, queueId: queueIdOf(answer) };
    const audio = await outcomeOf(api, job);
    expectAudio(audio, LOCAL);
    expectChangedVoice(audio.bytes, 0.7);
    expect((await complete(api, job)).body).toEqual({ success: true });
    expect((await retrieve(api, job)).status).toBe(404);
    expect(await farebox.objects()).toEqual([]);
    // The tests of this file share the day's 0.08 diem, so both currencies are added.
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    expect(await farebox.historyOf(job.queueId)).not.toContain('secret-in-the-url');
    expect(farebox.api.logs() + farebox.worker.logs()).not.toContain('secret-in-the-url');
  });
});

describe('delivery', () => {
  it('returns one byte range with its position', async () => {
    const { api } = farebox.account;
    const job = await stored('quick-voice');
    const whole = (await retrieve(api, job)).bytes;
    const size = whole.length;
    const parts: [string, number, number][] = [
      ['bytes=0-99', 0, 99],
      ['bytes=100-', 100, size - 1],
      ['bytes=-50', size - 50, size - 1],
      [`bytes=10-${size * 2}`, 10, size - 1],
    ];
    for (const [range, first, last] of parts) {
      const reply = await retrieve(api, job, { range });
      expect(reply.status, range).toBe(206);
      expect(reply.headers.get('content-range')).toBe(`bytes ${first}-${last}/${size}`);
      expect(reply.headers.get('content-length')).toBe(String(last - first + 1));
      expect(reply.bytes.equals(whole.subarray(first, last + 1)), range).toBe(true);
    }
    for (const range of [`bytes=${size}-`, 'bytes=-0']) {
      const reply = await retrieve(api, job, { range });
      expect([reply.status, reply.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
    }
    for (const range of ['bytes=5-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-']) {
      const reply = await retrieve(api, job, { range });
      expect([reply.status, reply.bytes.length], range).toEqual([200, size]);
    }
    await complete(api, job);
  });

  it('is the last one with delete_media_on_completion', async () => {
    const { api } = farebox.account;
    const job = await stored('quick-voice');
    const audio = await retrieve(api, job, { deleteAfter: true });
    expect([audio.status, audio.bytes.length > 30_000]).toEqual([200, true]);
    // A further request of the client proves that it has the last byte.
    expect((await retrieve(api, job)).status).toBe(404);
    await untilState(api, job.queueId, 'deleted');
    await expectNothingLeft();
  });

  it('deletes nothing with delete_media_on_completion before the output exists', async () => {
    const { api } = farebox.account;
    const job = await order('slow-voice');
    expect(isProcessing(await retrieve(api, job, { deleteAfter: true }))).toBe(true);
    expect((await outcomeOf(api, job)).status).toBe(200);
    await complete(api, job);
  });

  it('does not count when cut off: the media stay although all bytes were sent', async () => {
    const { api } = farebox.account;
    const reply = await queueFile(api, { model: 'quick-voice', source: toneWav(60) });
    const job = { model: 'quick-voice', queueId: queueIdOf(reply) };
    await untilState(api, job.queueId, 'stored');
    const read = await cutDownload(job);
    expect(read).toBeLessThan(900_000);
    expect(farebox.api.logs()).not.toContain('delivery broke off');
    const again = await retrieve(api, job, { deleteAfter: true });
    expect([again.status, again.bytes.length > 900_000]).toEqual([200, true]);
    await untilState(api, job.queueId, 'deleted');
    await expectNothingLeft();
  });

  it('ends with the retention period: the media are gone and the charge stays', async () => {
    const brief = await farebox.anotherApi({ ...configuration, media: { retentionHours: 1 / 3_600 } });
    const before = await farebox.moneyOf(farebox.account);
    const queueId = queueIdOf(await queueFile(brief.client, { model: 'quick-voice', source: short }));
    await untilState(brief.client, queueId, 'expired');
    expect((await retrieve(brief.client, { model: 'quick-voice', queueId })).status).toBe(404);
    await expectNothingLeft();
    const { body } = await brief.client.get(`/jobs/${queueId}`);
    expect(body).toMatchObject({ state: 'expired', credits_refunded: false, refund_id: null });
    expect(before - (await farebox.moneyOf(farebox.account))).toBe(50_000_000n);
    await brief.stop();
  });
});

/** Requests the media with their deletion, reads a part and disconnects. Returns the bytes read. */
async function cutDownload({ model, queueId }: { model: string; queueId: string }): Promise<number> {
  const { hostname, port } = new URL(farebox.origin);
  const body = JSON.stringify({ model, queue_id: queueId, delete_media_on_completion: true });
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(
    `POST /api/v1/audio/voice-changer/retrieve HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\n` +
      `Authorization: Bearer ${farebox.account.inferenceKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  // Without a reader the socket reads some kilobytes. The rest stays in the kernel's buffers.
  await sleep(600);
  socket.destroy();
  return socket.bytesRead;
}

it('leaves no workflow open, no object in storage and no file behind', async () => {
  await sleep(200);
  expect(await farebox.openWorkflows()).toEqual([]);
  expect(await farebox.objects()).toEqual([]);
  expect(farebox.temporaryFiles()).toEqual([]);
});

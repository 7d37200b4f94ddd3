import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { ROOT } from '../harness/spawn.ts';
import { type ElevenLabsStub, startElevenLabsStub } from '../stubs/elevenlabs.ts';
import type { Reply } from './client.ts';
import { type Deployment, eventually, openDeployment } from './deployment.ts';
import { simulatedModels, voiceChanger } from './models.ts';
import { complete, queueFile, queueIdOf, untilState } from './orders.ts';
import { toneWav } from './recordings.ts';

export const JFK = path.join(ROOT, 'test/fixtures/jfk.flac');
export const LOCAL = 'local-voice-changer';
export const CLOUD = 'elevenlabs-voice-changer';
export const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export let farebox: Deployment;
let files: Server;
export let filesUrl: string;
export let cloud: ElevenLabsStub;
export let configuration: { media?: object; [part: string]: unknown };
export const short = toneWav(2);

/** Call once per test file. A file that only imports may share this module with others. */
export function useVoiceChangerWorld(): void {
  beforeAll(async () => {
    cloud = await startElevenLabsStub();
    files = createServer((_request, response) => response.end(readFileSync(JFK)));
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    const fileServer = `127.0.0.1:${(files.address() as AddressInfo).port}`;
    filesUrl = `http://${fileServer}/a%20speech.flac?token=secret-in-the-url`;
    const simulated = simulatedModels({
      'quick-voice': {},
      'slow-voice': { latencyMs: 1_500 },
      'late-voice': { latencyMs: 8_000 },
      'endless-voice': { outcome: 'hang', latencyMs: 600_000 },
      'prudish-voice': { outcome: 'content_policy' },
      'failing-voice': { outcome: 'failed' },
      'garbled-voice': { outcome: 'garbage-output' },
    });
    const elevenlabs = {
      kind: 'elevenlabs',
      baseUrl: cloud.baseUrl,
      apiKeyEnv: 'CLOUD_KEY',
      allowPrivateNetwork: true,
    };
    configuration = {
      providers: {
        simulated: simulated.provider,
        elevenlabs,
        keyless: { kind: 'elevenlabs', apiKeyEnv: 'NOT_SET' },
      },
      models: [
        ...simulated.models,
        voiceChanger('keyless-voice', 'keyless'),
        { ...voiceChanger('named-voice', 'simulated'), aliases: ['foreign-name'] },
      ],
      fetch: { allowPrivateHosts: [fileServer] },
      jobs: { deadlineMinutes: 10, pollFirstMs: 100, pollLongestMs: 300 },
    };
    farebox = await openDeployment({ configuration, variables: { CLOUD_KEY: cloud.apiKey } });
  });

  afterAll(async () => {
    await farebox?.close();
    await cloud?.close();
    files?.close();
  });

  /** Checks the ledger after each test and completes stored jobs for the next one. */
  afterEach(async () => {
    expect(await checkLedger(farebox.pool)).toEqual([]);
    const { rows } = await farebox.pool.query<{ model: string; queueId: string }>(
      `select model_id as model, queue_id as "queueId" from jobs where state = 'stored'`,
    );
    for (const job of rows) await complete(farebox.account.api, job);
  });
}

export async function order(
  model: string,
  fields?: Record<string, string>,
): Promise<{ model: string; queueId: string }> {
  const reply = await queueFile(farebox.account.api, { model, source: short, ...(fields && { fields }) });
  return { model, queueId: queueIdOf(reply) };
}

export async function stored(model: string): Promise<{ model: string; queueId: string }> {
  const job = await order(model);
  await untilState(farebox.account.api, job.queueId, 'stored');
  return job;
}

/** Without a client request the deletion follows shortly after the answer. */
export async function expectNothingLeft(): Promise<void> {
  const empty = async () => ((await farebox.objects()).length === 0 ? true : undefined);
  await eventually(empty).catch(() => undefined);
  expect(await farebox.objects()).toEqual([]);
}

export function expectAudio(reply: Reply, model: string): void {
  expect(reply.status).toBe(200);
  const { headers } = reply;
  expect(headers.get('content-type')).toBe('audio/mpeg');
  expect(headers.get('content-length')).toBe(String(reply.bytes.length));
  expect(headers.get('accept-ranges')).toBe('bytes');
  expect(headers.get('cache-control')).toContain('no-store');
  expect(headers.get('x-service-audio-format')).toBe('mp3');
  expect(headers.get('x-service-model-id')).toBe(model);
  expect(headers.get('x-service-model-name')).toBeTruthy();
  expect(Number(headers.get('x-service-inference-time'))).toBeGreaterThan(0);
  expect(Number(headers.get('x-service-audio-duration'))).toBeGreaterThan(0);
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
}

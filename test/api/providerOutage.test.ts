/** Orders for a provider that does not answer: refused before the charge, with a Retry-After. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toneWav } from '../../bench/wav.ts';
import { recordProviderFailure } from '../../infra/postgres/providerHealth.ts';
import { createWorld } from '../harness/services.ts';
import { modelId, simulatedVoice, simulator } from '../harness/simulatedVoices.ts';
import { type FlowWorld, openFlowWorld } from '../infra/postgres/flowWorld.ts';
import { seriesValue } from '../infra/telemetry/seriesValue.ts';
import { startApi, type TestApi } from './startApi.ts';

const DOWN = 'down';

let api: TestApi;
let world: FlowWorld;
beforeAll(async () => {
  const { environment } = await createWorld();
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'farebox-outage-')), 'farebox.config.json');
  const provider = simulator({ limits: { concurrent: 3 } });
  writeFileSync(file, JSON.stringify({ providers: { [DOWN]: provider }, models: [simulatedVoice(DOWN, 0.1)] }));
  api = await startApi({ environment: { ...environment, FAREBOX_CONFIG: file } });
  world = await openFlowWorld(2, api.environment.DATABASE_URL);
  for (let times = 0; times < 5; times += 1) await recordProviderFailure(world.ledger.pool, DOWN);
});
afterAll(async () => {
  await world.close();
  await api.stop();
});

function orderOnce(key: string, idempotencyKey: string): Promise<Response> {
  const form = new FormData();
  form.set('model', modelId(DOWN));
  form.set('file', new Blob([new Uint8Array(toneWav(1))], { type: 'audio/wav' }), 'source.wav');
  const headers = { 'Idempotency-Key': idempotencyKey };
  return api.call('/audio/voice-changer/queue', { method: 'POST', key, headers, body: form });
}

describe('a new order for a provider whose circuit is open', () => {
  it('gets 503 with Retry-After and no charge, also when it is repeated with its Idempotency-Key', async () => {
    const accountId = await world.ledger.account({ usd: 10n ** 12n });
    const { secret } = await api.newKey('INFERENCE', { accountId });
    const key = randomUUID();
    const silent = `The model ${modelId(DOWN)} does not answer at the moment.`;
    // The second request cannot know whether an earlier one with the same key was charged.
    for (const error of [`${silent} Nothing was charged; please try again.`, `${silent} Please try again.`]) {
      const answer = await orderOnce(secret, key);
      expect(answer.status).toBe(503);
      expect(await answer.json()).toEqual({ error });
      const retryAfter = Number(answer.headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThanOrEqual(1);
      expect(retryAfter).toBeLessThanOrEqual(5);
    }
    const booked = await world.ledger.transfersOf(accountId);
    expect(booked.filter(({ kind }) => kind === 'charge')).toEqual([]);
    const { rows } = await world.ledger.owner.query('select from jobs');
    expect(rows).toHaveLength(0);
  });
});

describe('the metrics', () => {
  it('show the job slots of a provider, its jobs and its circuit', async () => {
    const jobs = await world.jobs(await world.account(), 5, DOWN);
    await world.ledger.owner.query(`update provider_health set open_until = null, failures = 0`);
    for (const job of jobs) await world.open(job, { concurrent: 3 });
    for (let times = 0; times < 5; times += 1) await recordProviderFailure(world.ledger.pool, DOWN);
    const text = await (await fetch(`${api.origin}/metrics`)).text();
    const value = (name: string, labels: Record<string, string> = {}) =>
      seriesValue(text, name, { provider: DOWN, ...labels });
    expect(value('farebox_provider_places')).toBe(3);
    expect(value('farebox_provider_jobs', { state: 'running' })).toBe(3);
    expect(value('farebox_provider_jobs', { state: 'waiting' })).toBe(2);
    expect(value('farebox_provider_circuit')).toBe(2);
  });
});

/** Calls that used no tokens leave none in the token window (LIMIT-11). */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCatalogue } from '../../../domain/catalogue/catalogue.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { call, MODELS } from './limitsWorld.ts';

/** Tokens of one call, out of 5,000,000 a minute. */
const MANY = 3_000_000;

let api: TestApi;
beforeAll(async () => {
  api = await startApi({
    routes: [call('/test/call')],
    config: (loaded) => ({
      ...loaded,
      models: [...loaded.models, ...MODELS],
      modelCatalogue: createCatalogue([...loaded.models, ...MODELS]),
    }),
    budgets: 'published',
  });
});
afterAll(async () => {
  await api?.stop();
});

async function send(key: string, content: object, headers: object = {}): Promise<number> {
  const { status } = await api.call('/test/call', {
    ...{ method: 'POST', key, headers: { 'content-type': 'application/json', ...headers } },
    body: JSON.stringify({ model: 'vectors', tokens: MANY, ...content }),
  });
  return status;
}

const newKey = async () => (await api.newKey('ADMIN')).secret;

it.each([
  ['a call that failed', { end: 'failed' }, {}],
  ['a dry run', {}, { 'x-service-dry-run': 'true' }],
])('returns the tokens of %s', async (_what, content, headers) => {
  const key = await newKey();
  for (let turn = 0; turn < 4; turn += 1) expect(await send(key, content, headers)).not.toBe(429);
});

it('returns no tokens for a refused call', async () => {
  const key = await newKey();
  expect(await send(key, {})).toBe(200);
  expect(await send(key, {})).toBe(429);
  expect(await send(key, { tokens: MANY - 1_000_000 })).toBe(200);
  expect(await send(key, { tokens: 10 })).toBe(429);
});

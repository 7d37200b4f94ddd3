/** Searches whose client leaves before the results: the engine is paid, so they count into the refund budget. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { grant } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { until } from '../harness/until.ts';
import { answering, type EngineStub, startSearxngStub } from '../stubs/searchEngines.ts';
import { startApi, type TestApi } from './startApi.ts';

const PRICE_NANO = '10000000';

let engine: EngineStub;
let api: TestApi;
let key: string;
let accountId: string;

beforeAll(async () => {
  engine = await startSearxngStub();
  api = await startApi({
    config: (config) => ({
      ...config,
      search: { kind: 'searxng', baseUrl: engine.baseUrl, allowPrivateNetwork: true },
    }),
  });
  ({ secret: key, accountId } = await api.newKey('INFERENCE'));
  const { sql, config } = api.opened.dependencies.core;
  const credit = { operationId: randomUUID(), accountId, amount: 10n ** 9n, notes: 'test' };
  await grant(sql, { ...credit, currency: 'usd' });
  // The price of two searches.
  config.limits.overrides[accountId] = { refundedPerDay: 0.02 };
});
afterAll(async () => {
  expect(await checkLedger(api.opened.dependencies.core.sql)).toEqual([]);
  await api.stop();
  await engine.close();
});

async function entries(): Promise<string[]> {
  const { sql } = api.opened.dependencies.core;
  const { rows } = await sql.query('select sku, amount_nano::text as amount from usage_entries where account_id = $1', [
    accountId,
  ]);
  return rows.map(({ sku, amount }) => `${sku} ${amount}`);
}

/** A client leaves once the engine received the search. */
async function leaveSearch(): Promise<void> {
  const asked = engine.requests.length;
  engine.next.push(() => undefined);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const request = http.request(`${api.baseUrl}/augment/search`, { method: 'POST', headers, agent: false });
  request.on('error', () => undefined);
  request.end(JSON.stringify({ query: 'fares' }));
  await until('the engine is asked', () => engine.requests.length > asked);
  request.destroy();
  await until('the call is over', () => api.inFlight.count === 0);
}

it('bills searches beyond the refund budget of the day, and none within it', async () => {
  for (let count = 0; count < 5; count += 1) await leaveSearch();
  expect(await entries()).toEqual(Array(3).fill(`augment-search ${PRICE_NANO}`));
});

it('charges nothing for a search that the engine refused', async () => {
  const before = await entries();
  engine.next.push(answering(500, 'no'));
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ query: 'fares' });
  const response = await api.call('/augment/search', { method: 'POST', key, headers, body });
  expect(response.status).toBeGreaterThanOrEqual(500);
  expect(await entries()).toEqual(before);
});

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { daysOf } from '../../../api/billing/analyticsQuery.ts';
import { refund } from '../../../infra/postgres/ledger.ts';
import { openPool } from '../../../infra/postgres/pool.ts';
import { usageAnalytics } from '../../../infra/postgres/usageAnalytics.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { bill, type Payer, payer } from './usageWorld.ts';

let api: TestApi;
let owner: pg.Client;
beforeAll(async () => {
  api = await startApi();
  owner = new pg.Client({ connectionString: api.environment.DATABASE_URL });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await api.stop();
});

const setClock = (expression: string) =>
  owner.query(
    `create or replace function ledger_now() returns timestamptz language sql volatile as $$ select ${expression} $$`,
  );

interface Analytics {
  lookback: string;
  byDate: { date: string; USD: number; DIEM: number }[];
  byModel: { modelName: string; totalUsd: number; totalDiem: number; totalUnits: number }[];
  byKey: { apiKeyId: string | null; description: string; totalUsd: number; totalDiem: number }[];
  byModelDaily: Record<string, number>[];
  byKeyDaily: Record<string, number>[];
  topModels: string[];
  topKeyNames: string[];
}

async function analytics({ secret }: Payer, query = ''): Promise<Analytics> {
  const response = await api.call(`/billing/usage-analytics${query}`, { key: secret });
  const body = await response.json();
  expect([response.status, body]).toEqual([200, expect.any(Object)]);
  return body as Analytics;
}

/** Sells what gives the expected figures below, and leaves the clock on the third day. */
async function sellOverThreeDays(who: Payer, keyId: string): Promise<void> {
  await setClock(`'2026-05-03T10:00:00Z'::timestamptz`);
  // First 0.04 diem and 0.06 bundled, then 0.14 bundled and 0.16 usd.
  await bill(api, { ...who, keyId }, 100_000_000n, { units: '0.1' });
  await bill(api, { ...who, keyId: null }, 300_000_000n, { units: '0.2' });
  await setClock(`'2026-05-04T23:59:59.999999Z'::timestamptz`);
  const undone = await bill(api, who, 40_000_000n, { units: '7' });
  const text = { modelId: 'writer', sku: 'writer-output-mtoken', unit: 'mtoken' };
  await bill(api, who, 1n, { ...text, units: '0.000001' });
  await setClock(`'2026-05-05T00:00:00Z'::timestamptz`);
  const { sql } = api.opened.dependencies.core;
  await refund(sql, { operationId: undone, chargeOperationId: undone, reason: 'x' });
}

const EXPECTED_MODELS = [
  {
    modelName: 'local-voice-changer',
    unitType: 'minute',
    modelType: 'music',
    totalUsd: 0.36,
    totalDiem: 0.04,
    totalUnits: 0.3,
    breakdown: [{ type: 'local-voice-changer-audio-minute', usd: 0.36, diem: 0.04, units: 0.3 }],
  },
  {
    modelName: 'writer',
    unitType: 'mtoken',
    modelType: null,
    totalUsd: 1e-9,
    totalDiem: 0,
    totalUnits: 0.000001,
    breakdown: [{ type: 'writer-output-mtoken', usd: 1e-9, diem: 0, units: 0.000001 }],
  },
];

describe('GET /billing/usage-analytics', () => {
  it('has exactly the documented fields, and counts each sale once', async () => {
    const who = await payer(api, { usd: 10n ** 10n, bundled: 200_000_000n, diem: 40_000_000n });
    const { keyId } = await api.newKey('INFERENCE', { accountId: who.accountId, description: 'shop' });
    try {
      await sellOverThreeDays(who, keyId);
      const body = await analytics(who, '?lookback=3d');
      expect(body).toStrictEqual({
        lookback: '3d',
        byDate: [
          { date: '2026-05-03', USD: 0.36, DIEM: 0.04 },
          { date: '2026-05-04', USD: 1e-9, DIEM: 0.04 },
          { date: '2026-05-05', USD: 0, DIEM: -0.04 },
        ],
        byModel: EXPECTED_MODELS,
        byModelDaily: [
          { 'local-voice-changer': 0.3, writer: 0, date: Date.parse('2026-05-03') },
          { 'local-voice-changer': 7, writer: 0.000001, date: Date.parse('2026-05-04') },
          { 'local-voice-changer': -7, writer: 0, date: Date.parse('2026-05-05') },
        ],
        topModels: ['local-voice-changer', 'writer'],
        byKey: [
          { apiKeyId: null, description: 'No API key', totalUsd: 0.3, totalDiem: 0, totalUnits: 0.2 },
          { apiKeyId: keyId, description: 'shop', totalUsd: 0.06, totalDiem: 0.04, totalUnits: 0.1 },
          {
            apiKeyId: who.keyId,
            description: expect.stringMatching(/^\(….{6}\)$/),
            totalUsd: 1e-9,
            totalDiem: 0,
            totalUnits: 0.000001,
          },
        ],
        byKeyDaily: expect.any(Array),
        topKeyNames: ['No API key', 'shop', body.byKey[2]?.description],
      });
      expect(body.byKeyDaily[1]).toStrictEqual({
        'No API key': 0,
        shop: 0,
        [body.byKey[2]?.description ?? '']: 7.000001,
        date: Date.parse('2026-05-04'),
      });
      const dated = await analytics(who, '?startDate=2026-05-04&endDate=2026-05-04');
      expect([dated.lookback, dated.byDate]).toEqual(['1d', body.byDate.slice(1, 2)]);
      expect(dated.byModel.map(({ totalDiem }) => totalDiem)).toEqual([0.04, 0]);
    } finally {
      await setClock('clock_timestamp()');
    }
  });

  it('covers seven days by default, ninety at most, and is all zero without sales', async () => {
    const who = await payer(api);
    const today = new Date().toISOString().slice(0, 10);
    const seven = await analytics(who);
    expect([seven.lookback, seven.byDate.length, seven.byDate.at(-1)]).toEqual([
      '7d',
      7,
      { date: today, USD: 0, DIEM: 0 },
    ]);
    expect(seven).toMatchObject({ byModel: [], byKey: [], topModels: [], topKeyNames: [] });
    for (const days of ['91d', '99999999999999999999d', `${'9'.repeat(400)}d`]) {
      const clamped = await analytics(who, `?lookback=${days}`);
      expect([clamped.lookback, clamped.byDate.length]).toEqual(['90d', 90]);
    }
    expect((await analytics(who, '?lookback=1d')).byDate).toEqual([{ date: today, USD: 0, DIEM: 0 }]);
  });

  it('includes a bill at once, also after an earlier request', async () => {
    const who = await payer(api);
    for (const expected of [0, 0.5, 1]) {
      expect((await analytics(who)).byDate.at(-1)).toMatchObject({ USD: expected });
      expect((await analytics(who)).byDate.at(-1)).toMatchObject({ USD: expected });
      await bill(api, who, 500_000_000n);
    }
  });

  it('keeps keys with the same description apart, whatever that is', async () => {
    const who = await payer(api);
    const names = ['same', 'same', 'date', '__proto__', ''];
    for (const [index, description] of names.entries()) {
      const { keyId } = await api.newKey('INFERENCE', { accountId: who.accountId, description });
      await bill(api, { ...who, keyId }, BigInt(10 - index), { units: String(index + 1) });
    }
    const { byKey, byKeyDaily, topKeyNames } = await analytics(who, '?lookback=1d');
    expect(byKey.map(({ description }) => description).slice(0, 4)).toEqual(names.slice(0, 4));
    expect(new Set(topKeyNames).size).toBe(5);
    const day = new Map(Object.entries(byKeyDaily[0] ?? {}));
    expect(topKeyNames.map((name) => day.get(name))).toEqual([1, 2, 3, 4, 5]);
    expect(day.get('date')).toBe(Date.parse(new Date().toISOString().slice(0, 10)));
  });

  it('that takes too long fails with the documented words', async () => {
    const who = await payer(api);
    const { DATABASE_URL: databaseUrl = '' } = api.environment;
    const impatient = openPool({ databaseUrl, applicationName: 'x', statementTimeoutMs: 200 });
    await owner.query('begin; lock table transfers in access exclusive mode');
    try {
      const days = { accountId: who.accountId, firstDay: '2026-05-01', lastDay: '2026-05-02', horizon: '1' };
      await expect(usageAnalytics(impatient, days)).rejects.toMatchObject({ code: 'timed_out' });
    } finally {
      await owner.query('rollback');
      await impatient.end();
    }
  });
});

describe('the days of a query', () => {
  it.each([
    [{ lookback: '3d' }, '2028-03-01', ['2028-02-28', '2028-02-29', '2028-03-01']],
    [
      {},
      '2026-01-02',
      ['2025-12-27', '2025-12-28', '2025-12-29', '2025-12-30', '2025-12-31', '2026-01-01', '2026-01-02'],
    ],
    [{ startDate: 0, endDate: 1 }, '2026-01-02', ['1970-01-01', '1970-01-02']],
  ])('%j on %s', (query, today, days) => {
    expect(daysOf(query, today)).toEqual({ lookback: `${days.length}d`, days });
  });
});

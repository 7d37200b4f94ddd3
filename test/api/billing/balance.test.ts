import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { presentBalance } from '../../../api/billing/balance.ts';
import { createAccount, setDiemAllocation } from '../../../infra/postgres/accounts.ts';
import { grant } from '../../../infra/postgres/ledger.ts';
import { startApi, type TestApi } from '../startApi.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const NOTHING = {
  usd: 0n,
  bundled: 0n,
  vcu: 0n,
  diem: 0n,
  diemAllocation: 0n,
  held: { usd: 0n, bundled: 0n, diem: 0n },
};

describe('GET /billing/balance', () => {
  it.each([
    [
      'nothing',
      {},
      {
        canConsume: false,
        consumptionCurrency: null,
        balances: { diem: null, usd: null },
        diemEpochAllocation: 0,
      },
    ],
    [
      'usd only',
      { usd: 1_230_000_001n },
      {
        canConsume: true,
        consumptionCurrency: 'USD',
        balances: { diem: null, usd: 1.230000001 },
        diemEpochAllocation: 0,
      },
    ],
    [
      'exactly ten cents',
      { usd: 100_000_000n },
      {
        canConsume: true,
        consumptionCurrency: 'USD',
        balances: { diem: null, usd: 0.1 },
        diemEpochAllocation: 0,
      },
    ],
    [
      'a nano less',
      { usd: 99_999_999n },
      {
        canConsume: false,
        consumptionCurrency: 'USD',
        balances: { diem: null, usd: 0.099999999 },
        diemEpochAllocation: 0,
      },
    ],
    [
      'ten cents over three currencies',
      { usd: 40_000_000n, bundled: 30_000_000n, diem: 30_000_000n, diemAllocation: 30_000_000n },
      {
        canConsume: true,
        consumptionCurrency: 'DIEM',
        balances: { diem: 0.03, usd: 0.04 },
        diemEpochAllocation: 0.03,
      },
    ],
    [
      'bundled before usd',
      { usd: 1n, bundled: 1n },
      {
        canConsume: false,
        consumptionCurrency: 'BUNDLED_CREDITS',
        balances: { diem: null, usd: 1e-9 },
        diemEpochAllocation: 0,
      },
    ],
    [
      'diem of today spent',
      { diem: 0n, diemAllocation: 5_000_000_000n },
      {
        canConsume: false,
        consumptionCurrency: null,
        balances: { diem: 0, usd: null },
        diemEpochAllocation: 5,
      },
    ],
    [
      'more than a JSON number can say, rounded down',
      { usd: 2n ** 63n - 1n },
      {
        canConsume: true,
        consumptionCurrency: 'USD',
        balances: { diem: null, usd: 9_223_372_036.854774 },
        diemEpochAllocation: 0,
      },
    ],
    [
      'vcu alone is never spent',
      { vcu: 9_000_000_000n },
      {
        canConsume: false,
        consumptionCurrency: null,
        balances: { diem: null, usd: null },
        diemEpochAllocation: 0,
      },
    ],
  ])('%s', (_name, balance, expected) => {
    expect(presentBalance({ ...NOTHING, ...balance })).toEqual(expected);
  });

  it('equals the ledger, over HTTP, for an ADMIN key of that account', async () => {
    const { sql } = api.opened.dependencies.core;
    const { id: accountId } = await createAccount(sql, { name: 'rich', diemDailyAllocation: 2_000_000_000n });
    await grant(sql, {
      operationId: `grant-${accountId}`,
      accountId,
      currency: 'usd',
      amount: 7_500_000_000n,
      notes: 'test',
    });
    const { secret } = await api.newKey('ADMIN', { accountId });
    const response = await api.call('/billing/balance', { key: secret });
    expect([response.status, response.headers.get('content-type'), await response.json()]).toEqual([
      200,
      'application/json; charset=utf-8',
      {
        canConsume: true,
        consumptionCurrency: 'DIEM',
        balances: { diem: 2, usd: 7.5 },
        diemEpochAllocation: 2,
      },
    ]);
    await setDiemAllocation(sql, accountId, 0n);
  });
});

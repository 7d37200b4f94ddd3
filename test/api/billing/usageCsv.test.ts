import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refund } from '../../../infra/postgres/ledger.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { bill, history, manyEntries, type Payer, payer, readCsv, toNano, type UsageEntry, walk } from './usageWorld.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const COLUMNS = [
  'timestamp',
  'sku',
  'pricePerUnitUsd',
  'units',
  'amount',
  'currency',
  'notes',
  'inferenceDetails.requestId',
  'inferenceDetails.inferenceExecutionTime',
  'inferenceDetails.promptTokens',
  'inferenceDetails.completionTokens',
];

async function csv(key: string, query = '', accept = 'text/csv'): Promise<Response> {
  const response = await api.call(`/billing/usage-history${query}`, { key, headers: { accept } });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
  return response;
}

/** Returns the lines of a CSV answer without its header line. */
async function lines(response: Response): Promise<string[][]> {
  const [names, ...rows] = readCsv(await response.text());
  expect(names).toEqual(COLUMNS);
  return rows;
}

/** Returns the CSV line of a JSON entry. `notes` that a spreadsheet would run start with an apostrophe. */
function asLine(entry: UsageEntry): string[] {
  const details = entry.inferenceDetails;
  const decimal = (value: number) =>
    (value < 0 ? '-' : '') +
    Math.abs(value)
      .toFixed(9)
      .replace(/\.?0+$/, '');
  return [
    entry.timestamp,
    entry.sku,
    decimal(entry.pricePerUnitUsd),
    String(entry.units),
    decimal(entry.amount),
    entry.currency,
    entry.notes.replace(/^(?=[=+\-@\t\r])/, "'"),
    details?.requestId ?? '',
    String(details?.inferenceExecutionTime ?? ''),
    String(details?.promptTokens ?? ''),
    String(details?.completionTokens ?? ''),
  ];
}

const NASTY = [
  'a,b',
  'say "hi"',
  'two\nlines',
  'two\r\nlines',
  '"',
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\tx',
  '\rx',
  '=cmd|"/c calc"!A0,\n',
  "'",
  '',
  ' ünïcode 🎙 ',
];

describe('the usage history as CSV', () => {
  it('has the same values as the JSON, whatever characters they contain', async () => {
    const { secret, ...who } = await payer(api, { usd: 10n ** 12n, bundled: 7n, diem: 3n });
    for (const text of NASTY) {
      const id = await bill(api, who, 1_000_000_005n, { notes: text, sku: text, promptTokens: 5 });
      if (text === '=1+1')
        await refund(api.opened.dependencies.core.sql, {
          operationId: id,
          chargeOperationId: id,
          reason: '=x, "y"',
        });
    }
    await bill(api, who, 12n, { requestId: undefined } as unknown as { requestId: string });
    const { data } = await history(api, secret);
    const response = await csv(secret);
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename=billing-usage-history-\d{8}T\d{9}Z\.csv$/,
    );
    expect(response.headers.get('vary')).toContain('Accept');
    expect(await lines(response)).toEqual(data.map(asLine));
    expect(data.map(({ notes }) => notes)).toEqual(expect.arrayContaining(NASTY));
  });

  it('has exact amounts beyond the range of a double', async () => {
    const { secret, ...who } = await payer(api, { usd: 4_000_000_000_000_000_001n });
    await bill(api, who, 4_000_000_000_000_000_001n);
    expect((await lines(await csv(secret)))[0]?.[4]).toBe('4000000000.000000001');
  });

  it('without entries is the header line', async () => {
    const { secret } = await payer(api);
    expect(await lines(await csv(secret))).toEqual([]);
    expect(await lines(await csv(secret, '?pageSize=10'))).toEqual([]);
  });

  it.each([
    ['text/csv', 'csv'],
    ['TEXT/CSV', 'csv'],
    ['text/csv; charset=utf-8', 'csv'],
    ['text/csv;q=0.9, application/json;q=0.8', 'csv'],
    ['text/*', 'csv'],
    ['application/json;q=0.9, text/csv;q=0.8', 'json'],
    ['application/json; charset=utf-8, text/csv;q=0.8', 'json'],
    ['text/csv;q=0', 'json'],
    ['text/csv;q=0, */*', 'json'],
    ['*/*', 'json'],
    ['', 'json'],
    ['application/xml', 'json'],
    ['application/json, text/csv', 'json'],
  ])('for "Accept: %s" is answered as %s', async (accept, kind) => {
    const { secret } = await payer(api);
    const response = await api.call('/billing/usage-history', { key: secret, headers: { accept } });
    const type = kind === 'csv' ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8';
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
    await response.text();
  });
});

const MANY = 4_321;

describe('a long history as CSV', () => {
  let who: Payer;
  let all: UsageEntry[];
  beforeAll(async () => {
    who = await payer(api);
    await manyEntries(api, who.accountId, MANY);
    all = await walk(api, who.secret, '');
  });

  it('is one stream of all entries of the requested range without a page size', async () => {
    expect(all).toHaveLength(MANY);
    const whole = await csv(who.secret);
    expect(whole.headers.get('x-next-cursor')).toBeNull();
    const rows = await lines(whole);
    expect(rows).toEqual(all.map(asLine));
    const sum = all.reduce((total, entry) => total + toNano(entry.amount), 0n);
    expect(sum).toBe((BigInt(MANY) * BigInt(MANY + 1)) / 2n);
    const part = `?startTimestamp=${all[100]?.timestamp}&endTimestamp=${all[4_200]?.timestamp}`;
    expect(await lines(await csv(who.secret, part))).toEqual(rows.slice(100, 4_200));
    const diem = await lines(await csv(who.secret, '?currency=DIEM'));
    expect(diem).toEqual(rows.filter((row) => row[5] === 'DIEM'));
  });

  it('comes in pages with a page size: each has the header line, the last no cursor', async () => {
    const rows: string[][] = [];
    const sizes: number[] = [];
    let query = '?pageSize=1000&currency=USD';
    for (;;) {
      const response = await csv(who.secret, query);
      const page = await lines(response);
      sizes.push(page.length);
      rows.push(...page);
      const next = response.headers.get('x-next-cursor');
      if (next === null) break;
      query = `?cursor=${next}`;
    }
    expect(sizes).toEqual([1_000, 1_000, 1_000, 1_000, MANY - Math.floor(MANY / 100) - 4_000]);
    expect(rows).toEqual(all.filter((entry) => entry.currency === 'USD').map(asLine));
  });

  it('continues in JSON with the cursor of a CSV page', async () => {
    const next = (await csv(who.secret, '?pageSize=10')).headers.get('x-next-cursor');
    expect((await history(api, who.secret, `?cursor=${next}`)).data).toEqual(all.slice(10, 20));
  });

  it('answers HEAD with its headers alone', async () => {
    const response = await api.call('/billing/usage-history', {
      method: 'HEAD',
      key: who.secret,
      headers: { accept: 'text/csv' },
    });
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'text/csv; charset=utf-8',
      '',
    ]);
  });
});

describe('a client of a long stream', () => {
  it('that disconnects ends the query, and one that stops reading keeps only a few batches in memory', async () => {
    const who = await payer(api);
    await manyEntries(api, who.accountId, 200_000);
    const { sql } = api.opened.dependencies.core;
    let statements = 0;
    let running = 0;
    const query = sql.query.bind(sql) as (...values: unknown[]) => unknown;
    const counting = (...values: unknown[]) => {
      if (!String((values[0] as { name?: string })?.name).startsWith('usage_lines')) return query(...values);
      statements += 1;
      running += 1;
      return (query(...values) as Promise<unknown>).finally(() => {
        running -= 1;
      });
    };
    (sql as { query: unknown }).query = counting;
    try {
      const headers = { accept: 'text/csv', authorization: `Bearer ${who.secret}` };
      const request = get(`${api.baseUrl}/billing/usage-history`, { headers });
      const response = await new Promise<NodeJS.ReadableStream>((resolve) => request.on('response', resolve));
      response.pause();
      let paused = -1;
      for (; running > 0 || statements !== paused || paused === 0; await sleep(1_000)) paused = statements;
      expect(paused).toBeLessThan(80);
      request.destroy();
      const until = Date.now() + 60_000;
      while (api.inFlight.count > 0 && Date.now() < until) await sleep(20);
      expect(api.inFlight.count).toBe(0);
      expect(statements).toBeLessThanOrEqual(paused + 1);
    } finally {
      (sql as { query: unknown }).query = query;
    }
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeCursor } from '../../../api/jobs/cursor.ts';
import { startApi, type TestApi } from '../startApi.ts';
import { history, manyEntries, type Payer, payer } from './usageWorld.ts';

let api: TestApi;
let who: Payer;
beforeAll(async () => {
  api = await startApi();
  who = await payer(api);
  await manyEntries(api, who.accountId, 40);
});
afterAll(() => api.stop());

let asked = 0;
let current = '';

/** A key may be refused fifty times in 30 s, so each key sends fewer requests than that. */
async function ask(path: string, key?: string): Promise<Response> {
  if (asked % 40 === 0) current = (await api.newKey('ADMIN', { accountId: who.accountId })).secret;
  asked += 1;
  return await api.call(`/billing/${path}`, { key: key ?? current });
}

/** Expects a 400 in the documented shape, with an error in `field` (`''` is the whole request). */
async function expectRefused(path: string, field: string): Promise<void> {
  const response = await ask(path);
  const body = (await response.json()) as { details: Record<string, { _errors: string[] }> };
  expect([path, response.status, body]).toMatchObject([
    path,
    400,
    { error: 'Invalid request parameters', details: {}, issues: expect.any(Array) },
  ]);
  const found = field === '' ? body.details : body.details[field];
  expect([path, found]).toMatchObject([path, { _errors: expect.arrayContaining([expect.any(String)]) }]);
}

const NO_TIMES = [
  '0000-01-01T00:00:00Z',
  '%2B275761-01-01T00:00:00Z',
  '275761-01-01T00:00:00Z',
  'NaN',
  '',
  '0',
  '1e308',
  '2026-02-30T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:60Z',
  '2026-01-01',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00%2B01:00',
  '2026-01-01t00:00:00z',
  '%202026-01-01T00:00:00Z',
  '2026-01-01T00:00:00.1234567890Z',
  "2026-01-01T00:00:00Z'--",
  '-infinity',
  'now',
];

describe('GET /billing/usage-history refuses', () => {
  it.each([
    ...['9', '1001', '1e3', '%2010', '10.0', '-10', 'NaN', '', '0x10', '1e308', '010', '99999999999999999999'].map(
      (size) => [`pageSize=${size}`, 'pageSize'],
    ),
    ['pageSize=10&pageSize=10', 'pageSize'],
    ['pageSize[]=10', ''],
    ...NO_TIMES.flatMap((time) => [
      [`startTimestamp=${time}`, 'startTimestamp'],
      [`endTimestamp=${time}`, 'endTimestamp'],
    ]),
    ['startTimestamp=2026-01-02T00:00:00Z&startTimestamp=2026-01-02T00:00:00Z', 'startTimestamp'],
    ['startTimestamp=2026-01-02T00:00:00Z&endTimestamp=2026-01-01T00:00:00Z', 'endTimestamp'],
    ['startTimestamp=2026-01-02T00:00:00Z&endTimestamp=2026-01-02T00:00:00.000000000Z', 'endTimestamp'],
    ...['usd', 'VCU', 'EARNED_CREDITS', '', 'USD,DIEM', "USD'--"].map((name) => [`currency=${name}`, 'currency']),
    ['currency=USD&currency=DIEM', 'currency'],
    ...['', 'a.b', '%00', `${'A'.repeat(513)}`, "'%20or%201=1"].map((cursor) => [`cursor=${cursor}`, 'cursor']),
    ['page=1', ''],
    ['limit=10', ''],
    ['PageSize=10', ''],
    ['__proto__=1', ''],
    ['constructor=1', ''],
  ])('?%s', async (query, field) => {
    await expectRefused(`usage-history?${query}`, field ?? '');
  });

  it('a cursor beside any other parameter', async () => {
    const { nextCursor } = await history(api, who.secret, '?pageSize=10');
    for (const more of ['pageSize=10', 'currency=USD', 'startTimestamp=2026-01-01T00:00:00Z'])
      await expectRefused(`usage-history?cursor=${nextCursor}&${more}`, 'cursor');
    await expectRefused(`usage-history?cursor=${nextCursor}&cursor=${nextCursor}`, 'cursor');
  });

  it('an INFERENCE key with 401 and a request without a key with 402', async () => {
    const { secret } = await api.newKey('INFERENCE', { accountId: who.accountId });
    for (const path of ['usage-history', 'usage-analytics', 'balance']) {
      const refused = await ask(path, secret);
      expect([refused.status, await refused.json()]).toEqual([401, { error: 'Admin API key required' }]);
      expect((await api.call(`/billing/${path}`)).status).toBe(402);
    }
  });
});

const INVALID = 'Invalid or expired cursor; restart from the first page';

async function expectNoCursor(cursor: string, key?: string): Promise<void> {
  const response = await ask(`usage-history?cursor=${cursor}`, key);
  expect([cursor, response.status, await response.json()]).toMatchObject([
    cursor,
    400,
    { error: INVALID, details: { cursor: { _errors: [INVALID] } } },
  ]);
}

describe('a cursor', () => {
  it('works repeatedly for its own account', async () => {
    const { nextCursor } = await history(api, who.secret, '?pageSize=10&currency=USD');
    const pages = [
      await history(api, who.secret, `?cursor=${nextCursor}`),
      await history(api, who.secret, `?cursor=${nextCursor}`),
    ];
    expect(pages[0]).toEqual(pages[1]);
    expect(pages[0]?.data.map((entry) => entry.inferenceDetails?.requestId)).toEqual(
      Array.from({ length: 10 }, (_, index) => String(11 + index)),
    );
  });

  it('with one character changed, removed or added is refused', async () => {
    const cursor = (await history(api, who.secret, '?pageSize=10')).nextCursor ?? '';
    const edits = [...cursor].flatMap((character, at) => {
      const other = character === 'A' ? 'B' : 'A';
      // This neighbour in the alphabet differs in the last bit alone, which may be without meaning.
      const near = String.fromCharCode(character.charCodeAt(0) ^ 1);
      const [before, after] = [cursor.slice(0, at), cursor.slice(at + 1)];
      return [before + other + after, before + near + after, before + after, before + other + character + after];
    });
    const legal = [...new Set(edits)].filter((edit) => /^[A-Za-z0-9_-]+$/.test(edit) && edit !== cursor);
    expect(legal.length).toBeGreaterThan(cursor.length * 3);
    for (const edit of legal) await expectNoCursor(edit);
    await expectNoCursor(cursor + cursor);
  });

  it('of another account, of another listing, or unsigned is refused', async () => {
    const other = await payer(api);
    const cursor = (await history(api, who.secret, '?pageSize=10')).nextCursor ?? '';
    await expectNoCursor(cursor, other.secret);
    for (const nonsense of ['A', 'AAAA', 'A'.repeat(512)]) await expectNoCursor(nonsense);
    await expectNoCursor(encodeCursor({ createdAt: new Date(), queueId: who.accountId }, { order: 'desc' }));
    const payload = Buffer.from(cursor, 'base64url').subarray(32);
    await expectNoCursor(payload.toString('base64url'));
    await expectNoCursor(Buffer.concat([Buffer.alloc(32), payload]).toString('base64url'));
  });
});

describe('GET /billing/usage-analytics refuses', () => {
  it.each([
    ...['0d', '07d', '-7d', '7', '7D', 'd', '', '7.5d', '1e1d', ' 7d', 'NaNd'].map((text) => [
      `lookback=${encodeURIComponent(text)}`,
      'lookback',
    ]),
    ['lookback=7d&lookback=7d', 'lookback'],
    ['lookback=7d&startDate=2026-01-01&endDate=2026-01-02', 'lookback'],
    ['startDate=2026-01-01', 'endDate'],
    ['endDate=2026-01-01', 'startDate'],
    ['startDate=2026-01-02&endDate=2026-01-01', 'endDate'],
    ['startDate=2026-01-01&endDate=2026-04-02', 'endDate'],
    ...['0000-01-01', '275761-01-01', '2026-02-29', '2026-1-1', 'NaN', '2026-01-01T00:00:00Z', "2026-01-01'--"].map(
      (day) => [`startDate=${day}&endDate=2026-01-01`, 'startDate'],
    ),
    ['days=7', ''],
  ])('?%s', async (query, field) => {
    await expectRefused(`usage-analytics?${query}`, field ?? '');
  });
});

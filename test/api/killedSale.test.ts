/**
 * A process that dies within a paid call leaves one hold, which is released whole at its expiry, or one charge. Never
 * both, never two. Local engines do the work.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { expireHolds } from '../../infra/postgres/holdExpiry.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { balanceOf, grant } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { JFK } from '../engines/media/recordings.ts';
import { originals } from '../fixtures/badImages/originals.ts';
import { createWorld, spawnApi } from '../harness/services.ts';
import { untilStatementsEnd } from '../harness/statements.ts';

const CREDIT = 10n ** 9n;

let environment: Record<string, string>;
let sql: pg.Pool;
let picture: string;

beforeAll(async () => {
  ({ environment } = await createWorld());
  sql = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'test' });
  picture = (await originals()).png.toString('base64');
});

afterAll(async () => {
  await sql.end();
});

type Order = { path: string; body: string | FormData };

const ORDERS: Record<string, () => Order> = {
  'an edit of a picture': () => ({
    path: '/image/edit',
    body: JSON.stringify({ model: 'local-edit', prompt: 'blur', image: picture, resolution: '4K' }),
  }),
  speech: () => ({
    path: '/audio/speech',
    body: JSON.stringify({ model: 'local-speech-sync', input: 'Mind the gap. '.repeat(200) }),
  }),
  'speech in chunks': () => ({
    path: '/audio/speech',
    body: JSON.stringify({
      ...{ model: 'local-speech-sync', input: 'Mind the gap. '.repeat(200), streaming: true },
    }),
  }),
  'a transcript': () => {
    const form = new FormData();
    form.set('model', 'local-transcribe');
    form.set('file', new Blob([new Uint8Array(readFileSync(JFK))]), 'jfk.flac');
    return { path: '/audio/transcriptions', body: form };
  },
};

/** The place of the death and the expected charges. */
const DEATHS: [when: string, point: string, charges: number | 'one or none'][] = [
  ['before the work', 'sale-held:kill:1:0', 0],
  ['while the work goes on', 'sale-held:kill:1:40', 0],
  ['when all is made and the answer begins', 'sale-made:kill:1:0', 0],
  ['while it is charged', 'sale-made:kill:1:4', 'one or none'],
  ['when it has been charged', 'sale-settled:kill:1:0', 1],
];

async function newPayer(): Promise<{ accountId: string; secret: string }> {
  const { id: accountId } = await createAccount(sql, { name: 'killed' });
  const { secret } = await createKey(sql, { accountId, keyType: 'INFERENCE' });
  const operationId = randomUUID();
  await grant(sql, { operationId, accountId, currency: 'usd', amount: CREDIT, notes: 'test' });
  return { accountId, secret };
}

/** Returns how much of the answer arrived. */
async function order(baseUrl: string, secret: string, { path, body }: Order): Promise<string> {
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(typeof body === 'string' && { 'content-type': 'application/json' }),
  };
  try {
    const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body });
    const bytes = await response.arrayBuffer().catch(() => undefined);
    return bytes === undefined ? 'a part' : `all, with ${response.status}`;
  } catch {
    return 'nothing';
  }
}

describe.each(Object.entries(ORDERS))('%s', (_name, toOrder) => {
  it.each(DEATHS)('whose process dies %s', async (_when, point, charges) => {
    const { accountId, secret } = await newPayer();
    const api = await spawnApi({ environment: { ...environment, FAREBOX_TEST_POINT: point } });
    let came = await order(api.baseUrl, secret, toOrder());
    // A busy machine may refuse an order that takes too long before it reaches the place of the death.
    for (let repeats = 0; /with [45]/.test(came) && repeats < 5; repeats += 1) {
      came = await order(api.baseUrl, secret, toOrder());
    }
    expect(['nothing', 'a part', ...(charges === 'one or none' ? ['all, with 200'] : [])]).toContain(came);
    expect((await api.exit).signal).toBe('SIGKILL');
    await untilStatementsEnd(sql);
    const { rowCount: held } = await sql.query('select from holds where account_id = $1', [accountId]);
    await expireNow();
    const { rows } = await sql.query('select amount_nano::text as nano from usage_entries where account_id = $1', [
      accountId,
    ]);
    expect([held, rows.length]).toEqual(charges === 1 || (charges !== 0 && held === 0) ? [0, 1] : [1, 0]);
    const spent = rows.reduce((sum, { nano }) => sum + BigInt(nano), 0n);
    expect((await balanceOf(sql, accountId))?.usd).toBe(CREDIT - spent);
    expect(await checkLedger(sql)).toEqual([]);
  });
});

it('removes the left work folders when the next process starts', async () => {
  const api = await spawnApi({ environment });
  const folder = join(environment.FAREBOX_DATA ?? '', 'tmp');
  await expect.poll(() => readdirSync(folder)).toEqual([]);
  await api.stop();
});

/** Ends all holds as if their time had passed. */
async function expireNow(): Promise<void> {
  await sql.query("update holds set expires_at = now() - interval '1 second'");
  await expireHolds(sql, 10);
}

/** A client that got a 504 has paid nothing, wherever the process dies between its bill and that answer. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount } from '../../infra/postgres/accounts.ts';
import { expireHolds } from '../../infra/postgres/holdExpiry.ts';
import { createKey } from '../../infra/postgres/keys.ts';
import { balanceOf, grant } from '../../infra/postgres/ledger.ts';
import { checkLedger } from '../../infra/postgres/ledgerCheck.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { createWorld, spawnApi } from '../harness/services.ts';
import { untilStatementsEnd } from '../harness/statements.ts';

const CREDIT = 10n ** 9n;

let environment: Record<string, string>;
let sql: pg.Pool;

beforeAll(async () => {
  ({ environment } = await createWorld());
  sql = openPool({ databaseUrl: environment.DATABASE_URL ?? '', applicationName: 'test' });
});

afterAll(() => sql.end());

async function newPayer(): Promise<{ accountId: string; secret: string }> {
  const { id: accountId } = await createAccount(sql, { name: 'killed' });
  const { secret } = await createKey(sql, { accountId, keyType: 'INFERENCE' });
  const operationId = randomUUID();
  await grant(sql, { operationId, accountId, currency: 'usd', amount: CREDIT, notes: 'test' });
  return { accountId, secret };
}

async function kindsOf(accountId: string): Promise<string[]> {
  const { rows } = await sql.query<{ kind: string }>(
    `select kind from transfers where account_id = $1 and kind in ('charge', 'refund') order by id`,
    [accountId],
  );
  return rows.map(({ kind }) => kind);
}

/** The bill is written in time. The answer is delayed beyond the deadline of eight seconds. */
const BILLED = 'sale-settled:pause:1:30000';

/** `told` says whether the client can have received the 504, which decides the expected books. */
const DEATHS: [when: string, point: string, told: 'no' | 'yes' | 'perhaps', kinds: string[] | undefined][] = [
  ['when the deadline passes', 'late-bill:kill:1:0', 'no', ['charge']],
  ['a moment after it', 'late-bill:kill:1:1', 'perhaps', undefined],
  ['while the bill is undone', 'late-bill:kill:1:3', 'perhaps', undefined],
  ['when the bill is undone', 'late-bill-withdrawn:kill:1:0', 'no', ['charge', 'refund']],
  ['while the client is told', 'late-bill-withdrawn:kill:1:1', 'perhaps', ['charge', 'refund']],
  ['when the client has been told', '', 'yes', ['charge', 'refund']],
];

it.each(DEATHS)('dies %s', async (_when, point, told, kinds) => {
  const { accountId, secret } = await newPayer();
  const points = [BILLED, point].filter((each) => each !== '').join(',');
  const api = await spawnApi({
    environment: { ...environment, FAREBOX_TEST_POINT: points },
    script: 'dist/test/harness/lateBillApi.js',
  });
  const headers = { authorization: `Bearer ${secret}` };
  const status = await fetch(`${api.baseUrl}/test/sold`, { method: 'POST', headers }).then(
    (response) => {
      api.kill('SIGKILL');
      return response.status;
    },
    () => undefined,
  );
  expect((await api.exit).signal).toBe('SIGKILL');
  if (told === 'yes') expect(status).toBe(504);
  else expect(told === 'no' ? [undefined] : [undefined, 504]).toContain(status);
  await untilStatementsEnd(sql);
  await sql.query("update holds set expires_at = now() - interval '1 second'");
  await expireHolds(sql, 10);
  const booked = await kindsOf(accountId);
  if (kinds) expect(booked).toEqual(kinds);
  else expect([['charge'], ['charge', 'refund']]).toContainEqual(booked);
  if (status === 504) expect((await balanceOf(sql, accountId))?.usd).toBe(CREDIT);
  expect(await checkLedger(sql)).toEqual([]);
});

/** A single hold or resolution writes the same as in a batch (ledger_hold, ledger_end_holds). */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerPrice } from '../../../domain/ledger.ts';
import type { HoldOutcome, Ledger } from '../../../infra/postgres/createLedger.ts';
import { createLedgerWorld, type KeyLimits, type LedgerWorld, SNAPSHOT } from './ledgerWorld.ts';

let world: LedgerWorld;
let ledger: Ledger;
beforeAll(async () => {
  world = await createLedgerWorld();
  // One statement at a time: calls of the same tick form one batch.
  ledger = world.ledger({ maxInFlight: 1 });
});
afterAll(async () => {
  await world.expectSound();
  await world.close();
});

interface Case {
  name: string;
  funds?: { usd?: bigint; bundled?: bigint; diem?: bigint };
  /** Undefined: the caller has no key. */
  key?: KeyLimits & { child?: boolean };
  price?: LedgerPrice;
  settled?: LedgerPrice;
}

const usd = (amount: bigint): LedgerPrice => ({ usd: amount, diem: 0n });
const same = (amount: bigint): LedgerPrice => ({ usd: amount, diem: amount });

const CASES: Case[] = [
  { name: 'usd and a key without limits', key: {} },
  { name: 'no key' },
  {
    name: 'a price that diem could pay, of which there is none',
    key: {},
    price: same(60n),
    settled: same(20n),
  },
  { name: 'all that there is', key: {}, price: usd(100n), settled: usd(100n) },
  { name: 'one more than there is', key: {}, price: usd(101n) },
  { name: 'a price of nothing', key: {}, price: usd(0n), settled: usd(0n) },
  { name: 'a price in diem alone', key: {}, price: { usd: 0n, diem: 5n }, settled: { usd: 0n, diem: 5n } },
  { name: 'nothing used', key: {}, settled: usd(0n) },
  { name: 'more than was held', key: {}, settled: usd(1_000n) },
  { name: 'diem', funds: { usd: 100n, diem: 30n }, key: {}, price: same(60n), settled: same(40n) },
  { name: 'bundled credit', funds: { usd: 100n, bundled: 30n }, key: {} },
  { name: 'no usd, only bundled credit', funds: { bundled: 100n }, key: {} },
  { name: 'a limit with room', key: { usd: 70n } },
  { name: 'a limit without room', key: { usd: 50n } },
  { name: 'a limit on diem', key: { diem: 10n }, price: same(60n), settled: same(40n) },
  { name: 'a child of a key with room', key: { usd: 70n, child: true } },
  { name: 'a child of a key without room', key: { usd: 50n, child: true } },
  { name: 'a child of a key without limits', key: { child: true } },
];

async function newPayer({ funds = { usd: 100n }, key }: Case) {
  const accountId = await world.account(funds);
  if (!key) return { accountId, keyId: null, keys: [] };
  const { child, ...limits } = key;
  const first = await world.key(accountId, limits);
  if (!child) return { accountId, keyId: first, keys: [first] };
  const keyId = await world.key(accountId, {}, first);
  return { accountId, keyId, keys: [first, keyId] };
}

type Payer = Awaited<ReturnType<typeof newPayer>>;

/** Act of another account in the same statement, which makes it a batch. */
async function companion(): Promise<{ hold(): Promise<unknown>; settle(): Promise<unknown> }> {
  const accountId = await world.account({ usd: 10n });
  const operationId = randomUUID();
  return {
    hold: () => ledger.hold({ operationId, accountId, keyId: null, price: usd(1n), ttlMs: 60_000, snapshot: SNAPSHOT }),
    settle: () => ledger.settle({ operationId, price: usd(1n) }),
  };
}

/** Rows written for a payer, without ids and times. */
async function written({ accountId, keys }: Payer, operationId: string) {
  const rows = async (text: string, value: unknown) =>
    (await world.owner.query<Record<string, unknown>>(text, [value])).rows;
  const day = (column: string) => `${column} - (ledger_now() at time zone 'UTC')::date as day`;
  return {
    balance: await world.balance(accountId),
    transfers: await rows(
      `select kind, house, currency, amount, ${day('day')}, key_id = any (array(select id from api_keys)) as by_key,
        details - 'restOf' as details
        from transfers where account_id = $1 and kind = 'charge' order by id`,
      accountId,
    ),
    operation: await rows(
      `select state, ${day('day')}, key_id is null as keyless, parent_key_id is null as orphan, price_usd, price_diem,
        held_diem, held_bundled, held_usd, diem, bundled, usd from operations where operation_id = $1`,
      operationId,
    ),
    holds: await rows(
      `select snapshot, round(extract(epoch from expires_at - ledger_now()) / 60) as minutes from holds where operation_id = $1`,
      operationId,
    ),
    keys: await Promise.all(
      keys.map((key) =>
        rows(`select ${day('day')}, usd_used, usd_held, diem_used, diem_held from key_days where key_id = $1`, key),
      ),
    ),
  };
}

describe.each(CASES)('$name', (asked) => {
  const { price = usd(60n), settled = usd(20n) } = asked;

  /** Holds, reads, resolves, reads; then repeats all, which changes nothing. */
  async function story(way: 'alone' | 'batched', resolution: 'settle' | 'release') {
    const payer = await newPayer(asked);
    const { accountId, keyId } = payer;
    const operationId = randomUUID();
    const other = way === 'batched' ? await companion() : undefined;
    const hold = async (): Promise<HoldOutcome> =>
      (
        await Promise.all([
          ledger.hold({ operationId, accountId, keyId, price, ttlMs: 600_000, snapshot: SNAPSHOT }),
          other?.hold(),
        ])
      )[0];
    const resolve = async () =>
      (
        await Promise.all([
          resolution === 'release'
            ? ledger.release({ operationId })
            : ledger.settle({ operationId, price: settled, snapshot: { notes: '7' } }),
          other?.settle(),
        ])
      )[0];
    const told = [];
    for (const step of [hold, hold, resolve, resolve, hold]) {
      told.push({ outcome: await step(), written: await written(payer, operationId) });
    }
    return told;
  }

  it('is held and settled alone as in a batch', async () => {
    expect(await story('alone', 'settle')).toEqual(await story('batched', 'settle'));
  });

  it('is held and released alone as in a batch', async () => {
    expect(await story('alone', 'release')).toEqual(await story('batched', 'release'));
  });
});

/** Ledger functions that a statement called. */
async function functionsOf(statement: string, values: unknown[]): Promise<string[]> {
  // A new connection, because the statistics of a connection include its earlier calls.
  const client = new pg.Client({ connectionString: world.databaseUrl });
  await client.connect();
  await client.query(`begin; set local track_functions = 'pl'`);
  await client.query(statement, values);
  const { rows } = await client.query<{ funcname: string }>(
    "select funcname from pg_stat_xact_user_functions where funcname like 'ledger%' order by funcname",
  );
  await client.query('commit');
  await client.end();
  return rows.map(({ funcname }) => funcname);
}

it.each([
  {
    ...{ name: 'a plain call', diem: 0n },
    hold: ['ledger_hold', 'ledger_split'],
    settle: ['ledger_end_holds', 'ledger_split'],
  },
  {
    ...{ name: 'a call of an account with diem', diem: 10n },
    hold: ['ledger_admit', 'ledger_hold', 'ledger_split'],
    settle: ['ledger_end_holds', 'ledger_resolve', 'ledger_split'],
  },
])('$name calls $hold and $settle', async ({ diem, hold, settle }) => {
  const accountId = await world.account({ usd: 100n, diem });
  const operationId = randomUUID();
  const held = [[operationId], [accountId], [null], ['9'], ['9'], [60_000], [JSON.stringify(SNAPSHOT)]];
  expect(await functionsOf('select * from ledger_hold($1, $2, $3, $4, $5, $6, $7)', held)).toEqual(hold);
  const settled = [[operationId], ['settled'], ['5'], ['5'], [null]];
  expect(await functionsOf('select * from ledger_end_holds($1, $2, $3, $4, $5)', settled)).toEqual(settle);
  expect((await world.balance(accountId)).usd).toBe(diem === 0n ? 95n : 100n);
});

it('writes a settlement and a hold in one statement like those in two statements', async () => {
  const twins = await Promise.all([1, 2].map(() => newPayer({ name: '', key: {} })));
  const story = async (payer: Payer, together: boolean) => {
    const { accountId, keyId } = payer;
    const ids = [randomUUID(), randomUUID()] as const;
    const hold = (operationId: string) =>
      ledger.hold({ operationId, accountId, keyId, price: usd(60n), ttlMs: 60_000, snapshot: SNAPSHOT });
    const settle = () => ledger.settle({ operationId: ids[0], price: usd(20n) });
    const first = await hold(ids[0]);
    const rest = together ? await Promise.all([settle(), hold(ids[1])]) : [await settle(), await hold(ids[1])];
    const books = await Promise.all(ids.map((id) => written(payer, id)));
    await ledger.release({ operationId: ids[1] });
    return { first, rest, books };
  };
  const apart = await story(twins[0] as Payer, false);
  expect(await story(twins[1] as Payer, true)).toEqual(apart);
});

describe('a single call', () => {
  it('finds no hold, and does not wait, while its hold is being written', async () => {
    const accountId = await world.account({ usd: 100n });
    const operationId = randomUUID();
    const client = await world.owner.connect();
    await client.query('begin');
    await client.query('select * from ledger_hold($1, $2, $3, $4, $5, $6, $7)', [
      ...[[operationId], [accountId], [null], ['9'], ['9'], [60_000], [JSON.stringify(SNAPSHOT)]],
    ]);
    expect(await ledger.settle({ operationId, price: usd(5n) })).toEqual({ outcome: 'no_hold' });
    await client.query('commit');
    client.release();
    expect(await ledger.settle({ operationId, price: usd(5n) })).toMatchObject({ outcome: 'settled' });
    expect(await world.balance(accountId)).toMatchObject({ usd: 95n, held: { usd: 0n } });
  });

  it('with an id that another account has used is refused', async () => {
    const operationId = randomUUID();
    const hold = async () =>
      ledger.hold({
        ...{ operationId, accountId: await world.account({ usd: 100n }), keyId: null },
        ...{ price: usd(10n), ttlMs: 60_000, snapshot: SNAPSHOT },
      });
    expect(await hold()).toMatchObject({ outcome: 'held' });
    await expect(hold()).rejects.toMatchObject({ code: 'conflict' });
    expect(await ledger.release({ operationId })).toMatchObject({ outcome: 'released' });
  });

  it('with a key of another account is a programming error', async () => {
    const stranger = await newPayer({ name: '', key: {} });
    const accountId = await world.account({ usd: 100n });
    const hold = ledger.hold({
      ...{ operationId: randomUUID(), accountId, keyId: stranger.keyId },
      ...{ price: usd(10n), ttlMs: 60_000, snapshot: SNAPSHOT },
    });
    await expect(hold).rejects.toMatchObject({ code: 'internal' });
  });

  it('that has waited for its account past midnight belongs to the new day', async () => {
    const accountId = await world.account({ usd: 100n });
    await world.setClock('2026-11-29T23:59:59.900Z');
    const client = await world.owner.connect();
    await client.query('begin');
    await client.query('select from accounts where id = $1 for update', [accountId]);
    const operationId = randomUUID();
    const held = ledger.hold({
      ...{ operationId, accountId, keyId: null, price: usd(10n) },
      ...{ ttlMs: 60_000, snapshot: SNAPSHOT },
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await world.setClock('2026-11-30T00:00:00.100Z');
    await client.query('commit');
    client.release();
    expect(await held).toMatchObject({ outcome: 'held' });
    const { rows } = await world.owner.query(`select day::text from operations where operation_id = $1`, [operationId]);
    expect(rows).toEqual([{ day: '2026-11-30' }]);
  });
});

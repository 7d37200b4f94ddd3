/** Writes valid books of any size directly into the ledger's tables: settled holds of 100 accounts with a key. */
import pg from 'pg';

export interface WrittenBooks {
  /** Number of settled holds, spread over all accounts. Each account also has one grant. */
  charges: number;
  /** ISO time of the first charge. Charges are evenly spaced. */
  from: string;
  to: string;
  /** Whether entries list their price lines. Entries of older builds do not. */
  hasLines: boolean;
}

const ACCOUNTS = 100;
const PRICE = 210_000;
const BATCH = 250_000;

/** Creates the accounts with grants that are booked at `at`. */
export async function writeAccounts(databaseUrl: string, at: string): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    await client.query(
      `with made as (
        insert into accounts (id, name, usd_posted, created_at)
        select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'bench', 10^15, $1
        from generate_series(1, ${ACCOUNTS}) n returning id
      ), keyed as (
        insert into api_keys (id, account_id, secret_hash, key_type, last6, limits_changed_at)
        select id, id, sha256(uuid_send(id)), 'INFERENCE', 'bench0', $1 from made
      ), noted as (
        insert into operations (operation_id, kind, account_id, state, day, diem, bundled, usd, created_at)
        select 'grant:' || id, 'grant', id, 'done', ($1::timestamptz at time zone 'UTC')::date, 0, 0, 10^15, $1 from made
      ), acted as (
        insert into audit_events (created_at, account_id, actor, action, target_id, changes)
        select $1, id, 'operator', 'credit.grant', 'grant:' || id, '{"currency": "usd", "amount": "1000000"}' from made
      )
      insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
      select $1, 'grant:' || id, 'grant', id, 'issuance', 'usd', 10^15, ($1::timestamptz at time zone 'UTC')::date, '{}'
      from made`,
      [at],
    );
  });
}

export async function writeCharges(databaseUrl: string, { charges, from, to, hasLines }: WrittenBooks): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    for (let first = 0; first < charges; first += BATCH) {
      await client.query(WRITE, [first, Math.min(charges, first + BATCH) - 1, charges, from, to, hasLines]);
    }
    await client.query('vacuum (analyze) transfers');
    await client.query('vacuum (analyze) operations');
    await client.query('vacuum (analyze) accounts, key_days');
  });
}

const WRITE = `with sold as materialized (
    select gen_random_uuid()::text as operation_id,
      ('00000000-0000-4000-8000-' || lpad((1 + n % ${ACCOUNTS})::text, 12, '0'))::uuid as account_id,
      date_trunc('milliseconds', $4::timestamptz + ($5::timestamptz - $4::timestamptz) * (n / $3::float8)) as at
    from generate_series($1::int, $2::int) n
  ), noted as (
    insert into operations (operation_id, kind, account_id, state, day, key_id, price_usd, price_diem, held_diem,
      held_bundled, held_usd, diem, bundled, usd, created_at)
    select operation_id, 'charge', account_id, 'settled', (at at time zone 'UTC')::date, account_id, ${PRICE}, 0, 0, 0,
      640000, 0, 0, ${PRICE}, at from sold order by at
  ), moved as (
    insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    select at, operation_id, 'charge', account_id, 'revenue', 'usd', -${PRICE}, (at at time zone 'UTC')::date, account_id,
      jsonb_build_object('sku', 'bench-llm-mtoken', 'modelId', 'bench-model', 'provider', 'bench', 'units', '0.0003', 'unit',
        'million tokens', 'pricePerUnitUsd', '1500000000', 'requestId', operation_id, 'promptTokens', 100,
        'completionTokens', 200, 'inferenceExecutionTime', 812, 'notes', 'API Inference')
        || case when $6::boolean then '{"lines": [100, 600000000, 200, 750000000]}' else '{}' end::jsonb from sold order by at
  ), used as (
    insert into key_days (key_id, day, usd_used)
    select account_id, (at at time zone 'UTC')::date, count(*) * ${PRICE} from sold group by 1, 2
    on conflict (key_id, day) do update set usd_used = key_days.usd_used + excluded.usd_used
  )
  update accounts a set usd_posted = a.usd_posted - s.spent
  from (select account_id, count(*) * ${PRICE} as spent from sold group by 1) s where a.id = s.account_id`;

async function onDatabase<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`set synchronous_commit = off; set timezone = 'UTC'`);
    return await work(client);
  } finally {
    await client.end();
  }
}

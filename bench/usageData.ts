/** Writes millions of entries of one account directly into the ledger's table with its indexes, and reads them. */
import pg from 'pg';

export interface UsageExtent {
  accountId: string;
  entries: number;
}

/** The first entry is one second later, and each next one another second. */
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const BATCH = 500_000;

export function timeOf(entry: number): string {
  return new Date(START_MS + entry * 1_000).toISOString();
}

/**
 * Writes charges only, because a refund is stored with all its fields and reads like a charge. All checks of the table
 * hold. The balance of the account does not follow, because the benchmark never reads it.
 */
export async function fillUsage(databaseUrl: string, { accountId, entries }: UsageExtent): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    // A crash would end the benchmark anyway.
    await client.query('set synchronous_commit = off');
    for (let from = 1; from <= entries; from += BATCH) {
      await client.query(
        `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
          select at, $1::text || n, 'charge', $1::uuid, 'revenue',
            case when n % 100000 = 0 then 'bundled' when n % 50 = 0 then 'diem' else 'usd' end,
            -1 - n % 1000000, at::date, jsonb_build_object('sku', 'bench-model', 'modelId', 'bench-model',
              'provider', 'bench', 'units', (n % 1000)::text, 'unit', 'token', 'pricePerUnitUsd', '1500',
              'requestId', md5(n::text), 'promptTokens', n % 1000, 'completionTokens', n % 100,
              'inferenceExecutionTime', n % 3000)
          from generate_series($2::bigint, $3::bigint) n
          cross join lateral (select $4::timestamptz + n * interval '1 second' as at) t
          order by n`,
        [accountId, from, Math.min(entries, from + BATCH - 1), timeOf(0)],
      );
    }
    await client.query('vacuum (analyze) transfers');
  } finally {
    await client.end();
  }
}

/** Reads a page of whole rows by primary key, from the given time on. */
export async function readRange(client: pg.Client, accountId: string, range: { from: string; rows: number }) {
  const { rows } = await client.query({
    name: 'range',
    text: `select * from transfers where account_id = $1 and (created_at, id) >= ($2::timestamptz, 0)
      order by created_at, id limit $3`,
    values: [accountId, range.from, range.rows],
  });
  return rows.length;
}

/** Copies the CSV's columns of a range to a program that discards them. Resolves with the milliseconds. */
export async function copyRange(
  client: pg.Client,
  accountId: string,
  range: { from: string; to: string },
): Promise<number> {
  const literal = (text: string) => client.escapeLiteral(text);
  const startMs = performance.now();
  await client.query(
    `copy (select "timestamp", sku, price_nano, units, amount_nano, currency, notes, request_id, execution_ms,
        prompt_tokens, completion_tokens
      from usage_entries
      where account_id = ${literal(accountId)} and created_at >= ${literal(range.from)}
        and created_at < ${literal(range.to)}
      order by created_at, id) to program 'cat > /dev/null' (format csv)`,
  );
  return performance.now() - startMs;
}

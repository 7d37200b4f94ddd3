/** An account with credit and an ADMIN key, bills for it, and its usage as a client reads it. */
import { randomUUID } from 'node:crypto';
import { createAccount } from '../../../infra/postgres/accounts.ts';
import { charge, grant, type PriceSnapshot } from '../../../infra/postgres/ledger.ts';
import type { TestApi } from '../startApi.ts';

export interface UsageEntry {
  timestamp: string;
  sku: string;
  units: number;
  unit: number;
  pricePerUnitUsd: number;
  amount: number;
  currency: 'USD' | 'DIEM' | 'BUNDLED_CREDITS';
  notes: string;
  inferenceDetails: {
    requestId: string;
    promptTokens: number | null;
    completionTokens: number | null;
    inferenceExecutionTime: number | null;
  } | null;
}

export interface UsagePage {
  data: UsageEntry[];
  nextCursor: string | null;
}

export interface Payer {
  accountId: string;
  keyId: string;
  secret: string;
}

export const SOLD: PriceSnapshot = {
  sku: 'local-voice-changer-audio-minute',
  modelId: 'local-voice-changer',
  provider: 'local',
  units: '2',
  unit: 'minute',
  pricePerUnitUsd: '50000000',
  requestId: 'a'.repeat(32),
};

export async function payer(
  api: TestApi,
  funds: { usd?: bigint; bundled?: bigint; diem?: bigint } = { usd: 10n ** 15n },
): Promise<Payer> {
  const { sql } = api.opened.dependencies.core;
  const { id: accountId } = await createAccount(sql, {
    name: 'payer',
    diemDailyAllocation: funds.diem ?? 0n,
  });
  for (const currency of ['usd', 'bundled'] as const) {
    const amount = funds[currency] ?? 0n;
    const operationId = `fund:${currency}:${accountId}`;
    if (amount > 0n) await grant(sql, { operationId, accountId, currency, amount, notes: 'test' });
  }
  const { secret, keyId } = await api.newKey('ADMIN', { accountId });
  return { accountId, keyId, secret };
}

/** Charges `amount` nano units; the request id is the operation's id unless the snapshot names one. */
export async function bill(
  api: TestApi,
  { accountId, keyId }: Pick<Payer, 'accountId'> & { keyId: string | null },
  amount: bigint,
  snapshot: Partial<PriceSnapshot> = {},
): Promise<string> {
  const operationId = randomUUID();
  const charged = await charge(api.opened.dependencies.core.sql, {
    operationId,
    accountId,
    keyId,
    price: { usd: amount, diem: amount },
    snapshot: { ...SOLD, requestId: operationId, ...snapshot },
  });
  if (charged.outcome !== 'charged') throw new Error(charged.outcome);
  return operationId;
}

/** Inserts entries of one nano each, a millisecond apart, directly into the books. */
export async function manyEntries(api: TestApi, accountId: string, count: number): Promise<void> {
  await api.opened.dependencies.core.sql.query(
    `insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, details)
     select '2026-03-01'::timestamptz + n * interval '1 millisecond', 'many:' || $1::uuid || n, 'charge', $1::uuid, 'revenue',
       case when n % 100 = 0 then 'diem' else 'usd' end, -n, '2026-03-01',
       jsonb_build_object('sku', 'many', 'modelId', 'many', 'units', '1', 'unit', 'call', 'pricePerUnitUsd', '1',
         'requestId', n::text)
     from generate_series(1, $2::int) n`,
    [accountId, count],
  );
}

export async function history(api: TestApi, secret: string, query = ''): Promise<UsagePage> {
  const response = await api.call(`/billing/usage-history${query}`, { key: secret });
  if (response.status !== 200) {
    const failure = api.log.filter((line) => line.includes('request failed')).at(-1) ?? '';
    throw new Error(`${response.status} ${await response.text()} ${failure}`);
  }
  return (await response.json()) as UsagePage;
}

/** Returns the entries of all pages. `between` runs before each page but the first. */
export async function walk(
  api: TestApi,
  secret: string,
  query: string,
  between: () => Promise<void> = async () => undefined,
): Promise<UsageEntry[]> {
  const entries: UsageEntry[] = [];
  for (let at = query; ; ) {
    const { data, nextCursor } = await history(api, secret, at);
    entries.push(...data);
    if (nextCursor === null) return entries;
    await between();
    at = `?cursor=${nextCursor}`;
  }
}

/** Converts a JSON amount of whole units to nano units. */
export function toNano(amount: number): bigint {
  return BigInt(amount.toFixed(9).replace('.', ''));
}

/** Reads RFC 4180 character by character, independently of the writer. */
export function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let inQuotes = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (inQuotes) {
      if (character !== '"') field += character;
      else if (text[at + 1] === '"') {
        field += '"';
        at += 1;
      } else inQuotes = false;
    } else if (character === '"' && field === '') inQuotes = true;
    else if (character === ',') {
      row.push(field);
      field = '';
    } else if (character === '\r' && text[at + 1] === '\n') {
      rows.push([...row, field]);
      row = [];
      field = '';
      at += 1;
    } else if (character === '"' || character === '\n' || character === '\r') {
      throw new Error(`an unquoted ${JSON.stringify(character)} at ${at}`);
    } else field += character;
  }
  if (inQuotes || field !== '' || row.length > 0) throw new Error('the last line has no end');
  return rows;
}

/** Charges and refunds of jobs, per currency, from the ledger. */
import type { Part } from '../../domain/ledger.ts';
import type { SqlClient } from './pool.ts';

/** Columns of an operation; null without one, or while it is undecided. */
export interface RawParts {
  diem: string | null;
  bundled: string | null;
  usd: string | null;
}

/** In spending order; unused currencies are left out. */
export function partsOf(raw: RawParts): Part[] {
  const currencies = ['diem', 'bundled', 'usd'] as const;
  return currencies
    .map((currency) => ({ currency, amount: BigInt(raw[currency] ?? '0') }))
    .filter(({ amount }) => amount > 0n);
}

export interface JobMoney {
  charged: Part[];
  refunded: Part[];
}

/** For the jobs of one page, in one statement; operations of a job have its queue_id. */
export async function moneyOfJobs(sql: SqlClient, queueIds: readonly string[]): Promise<Map<string, JobMoney>> {
  const money = new Map<string, JobMoney>(queueIds.map((id) => [id, { charged: [], refunded: [] }]));
  const { rows } = await sql.query<RawParts & { queue_id: string; kind: string }>({
    name: 'money-of-jobs',
    text: `select operation_id as queue_id, kind, diem, bundled, usd from operations where operation_id = any ($1::text[])`,
    values: [queueIds],
  });
  for (const row of rows) {
    const job = money.get(row.queue_id);
    if (job && row.kind === 'charge') job.charged = partsOf(row);
    if (job && row.kind === 'refund') job.refunded = partsOf(row);
  }
  return money;
}

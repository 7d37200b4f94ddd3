/** Accounts, the owners of balances and keys. */
import { FareboxError } from '../../domain/errors.ts';
import type { Nano } from '../../domain/money.ts';
import type { SqlClient } from './pool.ts';

export interface Account {
  id: string;
  name: string;
  /** Diem at the start of each UTC day, in nano units. */
  diemDailyAllocation: Nano;
  status: 'active' | 'suspended';
  createdAt: Date;
}

type AccountRow = Omit<Account, 'diemDailyAllocation'> & { diemDailyAllocation: string };

const COLUMNS = 'id, name, diem_daily_allocation as "diemDailyAllocation", status, created_at as "createdAt"';

/** Opens an account with empty balances. `id` is given where the caller needs a known one, e.g. to be repeatable. */
export async function createAccount(
  sql: SqlClient,
  request: { name: string; diemDailyAllocation?: Nano; id?: string },
): Promise<Account> {
  const { rows } = await sql.query<AccountRow>(
    `insert into accounts (id, name, diem_daily_allocation) values (coalesce($1, gen_random_uuid()), $2, $3)
     returning ${COLUMNS}`,
    [request.id ?? null, request.name, (request.diemDailyAllocation ?? 0n).toString()],
  );
  const row = rows[0];
  if (!row) throw new FareboxError({ code: 'internal', message: 'Internal error', internal: 'no account row' });
  return toAccount(row);
}

export async function findAccount(sql: SqlClient, accountId: string): Promise<Account | undefined> {
  const { rows } = await sql.query<AccountRow>(`select ${COLUMNS} from accounts where id = $1`, [accountId]);
  return rows[0] && toAccount(rows[0]);
}

/** Accounts in the order of their creation, at most `limit` (1,000 by default). */
export async function listAccounts(sql: SqlClient, limit = 1_000): Promise<Account[]> {
  const { rows } = await sql.query<AccountRow>(`select ${COLUMNS} from accounts order by created_at, id limit $1`, [
    limit,
  ]);
  return rows.map(toAccount);
}

/** Changes the diem at the start of each UTC day. A day whose diem was already used keeps its allocation. */
export async function setDiemAllocation(sql: SqlClient, accountId: string, allocation: Nano): Promise<boolean> {
  const { rowCount } = await sql.query('update accounts set diem_daily_allocation = $2 where id = $1', [
    accountId,
    allocation.toString(),
  ]);
  return rowCount === 1;
}

function toAccount(row: AccountRow): Account {
  return { ...row, diemDailyAllocation: BigInt(row.diemDailyAllocation) };
}

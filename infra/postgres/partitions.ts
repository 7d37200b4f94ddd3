/** Monthly partitions (migrations/0044_partitions.sql, 0046_transfers_by_month.sql). */
import type { SqlClient } from './pool.ts';

/** Makes the partitions of this month and the three that follow, where they are missing. Returns how many it made. */
export async function preparePartitions(sql: SqlClient): Promise<number> {
  const { rows } = await sql.query<{ made: number }>('select prepare_partitions() as made');
  return rows[0]?.made ?? 0;
}

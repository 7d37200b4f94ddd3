/** Monthly partitions, created by the functions of infra/postgres/functions/partitions/. */
import type { Sql } from './pool.ts';

/**
 * Creates missing partitions of this month and the next three; returns their number. Each table is a transaction of its
 * own, so that one in use does not block the others. Throws the first failure after trying all tables.
 */
export async function preparePartitions(sql: Sql): Promise<number> {
  const tables = await sql.query<{ name: string }>('select name from partitioned_tables order by name');
  let made = 0;
  const failures: unknown[] = [];
  for (const { name } of tables.rows) {
    try {
      const { rows } = await sql.query<{ made: number }>('select prepare_partitions($1) as made', [name]);
      made += rows[0]?.made ?? 0;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return made;
}

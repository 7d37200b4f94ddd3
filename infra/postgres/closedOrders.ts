/** Orders that can no longer become jobs, whoever still has them in hand. */
import { type PurgePage, purgePage, type SqlClient } from './pool.ts';

/**
 * Closes an order for good. Locks the account first, as everything does that could still accept it; what was accepted
 * before is then there to be seen.
 */
export async function closeOrder(
  client: SqlClient,
  order: { queueId: string; accountId: string },
): Promise<void> {
  await client.query('select from accounts where id = $1 for no key update', [order.accountId]);
  await client.query(
    `insert into closed_orders (queue_id)
     select $1 where not exists (select from jobs where queue_id = $1) on conflict do nothing`,
    [order.queueId],
  );
}

/** Forgets orders closed long ago, a page at a time; the number forgotten. */
export async function purgeClosedOrders(sql: SqlClient, page: PurgePage): Promise<number> {
  return await purgePage(sql, { table: 'closed_orders', column: 'closed_at' }, page);
}

/** Orders that can no longer become jobs. */
import { type PurgePage, purgePage, type SqlClient } from './pool.ts';

/**
 * Closes an order for good. It locks the account first, as every acceptance does, so that an earlier acceptance is
 * visible then.
 */
export async function closeOrder(client: SqlClient, order: { queueId: string; accountId: string }): Promise<void> {
  await client.query('select from accounts where id = $1 for no key update', [order.accountId]);
  await client.query(
    `insert into closed_orders (queue_id)
     select $1 where not exists (select from jobs where queue_id = $1) on conflict do nothing`,
    [order.queueId],
  );
}

/** Deletes a page of orders closed long ago; returns their number. */
export async function purgeClosedOrders(sql: SqlClient, page: PurgePage): Promise<number> {
  return await purgePage(sql, { table: 'closed_orders', column: 'closed_at' }, page);
}

-- Up Migration

-- Orders that were refused or given up: an attempt to accept one that comes back to life later finds it closed. Written
-- and read under the lock of the account, so that of the two one sees the other.
create table closed_orders (
  queue_id uuid primary key,
  closed_at timestamptz not null default clock_timestamp()
);
create index closed_orders_by_age on closed_orders (closed_at);
grant select, insert, delete on closed_orders to farebox_app;

-- Down Migration

drop table closed_orders;

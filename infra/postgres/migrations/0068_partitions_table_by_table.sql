-- Up Migration

-- Whoever writes to a table, or reads it, waits behind a statement that waits for its lock. So no table is waited for longer
-- than 250 ms (pg_dump keeps all of them for hours), and each table can be prepared in a transaction of its own, so that its
-- lock is not kept while the next one is waited for.

drop function prepare_partitions();
drop function create_month_partitions(timestamptz, timestamptz);

-- Makes what is missing of the partitions from one month to another, of one table or of all. No insert ever fails for want of
-- a partition. Returns how many months were made.
create function create_month_partitions(first timestamptz, last timestamptz, only_table text default null) returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  t partitioned_tables;
  made integer := 0;
begin
  -- One at a time. Nothing is locked yet: nobody waits behind this wait.
  perform pg_advisory_xact_lock(hashtextextended('farebox partitions', 0));
  perform set_config('lock_timeout', '250ms', true);
  for t in select * from partitioned_tables where name = coalesce(only_table, name) order by name loop
    made := made + case when to_regclass(t.name || '_later') is null
      then create_missing_months(t, first, last) else split_later_partition(t, first, last) end;
  end loop;
  return made;
end $$;

-- For the services: this month and the three that follow.
create function prepare_partitions(only_table text default null) returns integer language sql security definer
set search_path = public, pg_temp as $$
  select create_month_partitions(ledger_now(), ledger_now() + interval '3 months', only_table)
$$;
revoke all on function create_month_partitions from public;
revoke all on function prepare_partitions from public;
grant execute on function prepare_partitions to farebox_app;
grant select on partitioned_tables to farebox_app;

-- Down Migration

do $$ begin raise exception 'partitions are not taken back: restore a backup from before this migration'; end $$;

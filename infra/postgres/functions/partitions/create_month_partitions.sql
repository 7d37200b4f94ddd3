-- Makes the missing partitions from one month to another, of one table or of all. No insert ever fails for want of a
-- partition. Whoever writes to a table waits behind a statement that waits for its lock, so no lock is waited for
-- longer than 250 ms. Returns the number of partitions made.
create or replace function create_month_partitions(first timestamptz, last timestamptz, only_table text default null)
returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  t partitioned_tables;
  made integer := 0;
begin
  -- One caller at a time. Nothing is locked yet, so nobody waits behind this wait.
  perform pg_advisory_xact_lock(hashtextextended('farebox partitions', 0));
  perform set_config('lock_timeout', '250ms', true);
  for t in select * from partitioned_tables where name = coalesce(only_table, name) order by name loop
    made := made + case when to_regclass(t.name || '_later') is null
      then create_missing_months(t, first, last) else split_later_partition(t, first, last) end;
  end loop;
  return made;
end $$;

revoke all on function create_month_partitions from public;

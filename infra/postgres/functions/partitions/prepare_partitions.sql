-- Makes the partitions of this month and the next three, for the services.
create or replace function prepare_partitions(only_table text default null)
returns integer language sql security definer
set search_path = public, pg_temp as $$
  select create_month_partitions(ledger_now(), ledger_now() + interval '3 months', only_table)
$$;

revoke all on function prepare_partitions from public;
grant execute on function prepare_partitions to farebox_app;

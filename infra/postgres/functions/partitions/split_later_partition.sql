-- Tables whose last partition has no end: months are split off its beginning while it is empty. Months that were not
-- prepared in time stay together, with their rows, in one partition that is named after the first of them. Returns the
-- number of partitions made.
create or replace function split_later_partition(t partitioned_tables, first timestamptz, last timestamptz)
returns integer
language plpgsql as $$
declare
  later constant text := t.name || '_later';
  target constant timestamptz := date_trunc('month', last) + interval '1 month';
  month timestamptz := (select lower from partition_range(later::regclass));
  newest timestamptz;
  filled timestamptz;
  made integer := 0;
begin
  if month >= target then
    return 0;
  end if;
  -- Every writer waits behind this lock, so it is better to try again in an hour.
  perform set_config('lock_timeout', '250ms', true);
  execute format('alter table %I detach partition %I', t.name, later);
  execute format('select max(created_at) from %I', later) into newest;
  filled := greatest(date_trunc('month', first), date_trunc('month', newest) + interval '1 month');
  if filled > month then
    execute format('alter table %I rename to %I', later, t.name || to_char(month, '_YYYY_MM'));
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', t.name,
      t.name || to_char(month, '_YYYY_MM'), month, filled);
    month := filled;
  end if;
  while month < target loop
    perform create_partition(t, t.name || to_char(month, '_YYYY_MM'), quote_literal(month),
      quote_literal(month + interval '1 month'));
    month := month + interval '1 month';
    made := made + 1;
  end loop;
  if to_regclass(later) is null then
    perform create_partition(t, later, quote_literal(month), 'maxvalue');
  else
    execute format('alter table %I attach partition %I for values from (%L) to (maxvalue)', t.name, later, month);
  end if;
  return made;
end $$;

revoke all on function split_later_partition from public;

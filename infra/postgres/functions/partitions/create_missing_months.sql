-- Tables with a default partition. A month that has rows in it already stays there. Returns the number of partitions
-- made.
create or replace function create_missing_months(t partitioned_tables, first timestamptz, last timestamptz)
returns integer
language plpgsql as $$
declare
  month timestamptz := date_trunc('month', first);
  partition text;
  made integer := 0;
begin
  while month <= last loop
    partition := t.name || to_char(month, '_YYYY_MM');
    if to_regclass(partition) is null then
      begin
        perform create_partition(t, partition, quote_literal(partition_bound(t.keyed_by, month)),
          quote_literal(partition_bound(t.keyed_by, month + interval '1 month')));
        made := made + 1;
      exception when check_violation then
        null;
      end;
    end if;
    month := month + interval '1 month';
  end loop;
  return made;
end $$;

revoke all on function create_missing_months from public;

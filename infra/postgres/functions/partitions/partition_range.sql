-- Bounds of a partition by time; null: open.
create or replace function partition_range(partition regclass, out lower timestamptz, out upper timestamptz)
language sql stable as $$
  select (regexp_match(bound, 'FROM \(''([^'']+)''\)'))[1]::timestamptz, (regexp_match(bound, 'TO \(''([^'']+)''\)'))[1]::timestamptz
  from (select pg_get_expr(relpartbound, oid) as bound from pg_class where oid = partition) c
$$;

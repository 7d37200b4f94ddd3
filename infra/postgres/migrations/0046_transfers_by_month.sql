-- Up Migration

-- Transfers by month. The table that was there becomes the first partition as it is: nothing is rewritten, and its rows are
-- read once to prove that they end before the first month of its own. There is no default partition, which would keep the
-- planner from reading pages in the order of an index: `transfers_earlier` has no beginning and `transfers_later` no end.

-- The bounds of a partition by time; null: open.
create function partition_range(partition regclass, out lower timestamptz, out upper timestamptz)
language sql stable as $$
  select (regexp_match(bound, 'FROM \(''([^'']+)''\)'))[1]::timestamptz, (regexp_match(bound, 'TO \(''([^'']+)''\)'))[1]::timestamptz
  from (select pg_get_expr(relpartbound, oid) as bound from pg_class where oid = partition) c
$$;

create function create_partition(t partitioned_tables, partition text, first text, last text) returns void
language plpgsql as $$
begin
  execute format('create table %I partition of %I for values from (%s) to (%s)', partition, t.name, first, last);
  -- Default privileges would let the services change rows of a partition that they name.
  execute format('revoke all on %I from farebox_app', partition);
  if t.guard is not null then
    execute format('create trigger %I before update or delete or truncate on %I for each statement
      execute function %I()', t.name || '_append_only', partition, t.guard);
  end if;
end $$;

-- Tables with a default partition: a month that has rows in it already stays there.
create function create_missing_months(t partitioned_tables, first timestamptz, last timestamptz) returns integer
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

-- Tables whose last partition has no end: the months are split off its beginning while it is empty. Months that were not
-- prepared in time stay together, with the rows they have, in one partition that is named after the first of them.
create function split_later_partition(t partitioned_tables, first timestamptz, last timestamptz) returns integer
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
  -- Everybody who writes waits behind this lock: rather try again in an hour than keep them.
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

-- Makes what is missing of the partitions from one month to another. No insert ever fails for want of a partition. Returns
-- how many months were made.
create or replace function create_month_partitions(first timestamptz, last timestamptz) returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  t partitioned_tables;
  made integer := 0;
begin
  -- One at a time, and never while a long transaction keeps a table: the next run finds it missing again.
  perform pg_advisory_xact_lock(hashtextextended('farebox partitions', 0));
  perform set_config('lock_timeout', '5s', true);
  -- Transfers last, whose lock is the only one that the ledger waits for.
  for t in select * from partitioned_tables order by name loop
    made := made + case when to_regclass(t.name || '_later') is null
      then create_missing_months(t, first, last) else split_later_partition(t, first, last) end;
  end loop;
  return made;
end $$;
revoke all on function create_partition, create_missing_months, split_later_partition from public;

do $$
declare
  -- The table that was there ends with this month, unless it is empty or has rows of a clock that was ahead.
  bound timestamptz := date_trunc('month', ledger_now(), 'UTC');
  next_id bigint;
  entries_view text := pg_get_viewdef('entries'::regclass);
  usage_view text := pg_get_viewdef('usage_entries'::regclass);
begin
  lock table transfers in access exclusive mode;
  if exists (select from transfers) then
    bound := date_trunc('month', bound + interval '40 days', 'UTC');
  end if;
  if exists (select from transfers where created_at >= bound) then
    bound := date_trunc('month', (select max(created_at) from transfers) + interval '32 days', 'UTC');
  end if;
  execute format('select last_value + is_called::int from %s', pg_get_serial_sequence('transfers', 'id')) into next_id;

  drop trigger transfers_describe_refund on transfers;
  alter table transfers alter column id drop identity;
  alter table transfers rename to transfers_earlier;
  alter table transfers_earlier rename constraint transfers_pkey to transfers_earlier_pkey;
  alter index transfers_usage rename to transfers_earlier_usage;
  alter index transfers_by_time rename to transfers_earlier_by_time;
  alter index transfers_refunds_by_request rename to transfers_earlier_refunds_by_request;

  create table transfers (like transfers_earlier including defaults including constraints,
    primary key (account_id, created_at, id)) partition by range (created_at);
  -- A check that an operator added so that the rows need not be read here (docs/operating.md, "Upgrade").
  alter table transfers drop constraint if exists transfers_earlier_range;
  create index transfers_usage on transfers (account_id, currency, created_at, id) where kind in ('charge', 'refund');
  create index transfers_by_time on transfers using brin (created_at) with (pages_per_range = 16, autosummarize = on);
  create index transfers_refunds_by_request on transfers (account_id, (coalesce(sold, details) ->> 'requestId'))
    where kind = 'refund';
  execute format('alter table transfers alter column id add generated always as identity (start with %s)', next_id);
  execute format('alter table transfers attach partition transfers_earlier for values from (minvalue) to (%L)', bound);
  alter table transfers_earlier drop constraint if exists transfers_earlier_range;

  execute 'create or replace view entries as ' || entries_view;
  execute 'create or replace view usage_entries as ' || usage_view;
  create trigger transfers_append_only before update or delete or truncate on transfers
    for each statement execute function refuse_change();
  create trigger transfers_describe_refund before insert on transfers for each row
    when (new.kind = 'refund') execute function describe_refund();
  revoke all on transfers, transfers_earlier from farebox_app;
  grant select, insert on transfers to farebox_app;

  insert into partitioned_tables values ('transfers', 'time', 'refuse_change');
  perform create_partition(t, 'transfers_later', quote_literal(bound), 'maxvalue')
  from partitioned_tables t where t.name = 'transfers';
  perform create_month_partitions(ledger_now(), ledger_now() + interval '3 months');
end $$;

-- Down Migration

do $$ begin raise exception 'partitions are not taken back: restore a backup from before this migration'; end $$;

-- Up Migration

-- Operations by hash of their id, in four partitions: each has indexes of its own, which are a quarter as large and are
-- cleaned apart. `(operation_id, kind)` stays unique over all time, because the id decides the partition.

-- A statement reads the text of each check constraint of every table and partition that it writes to: with the six checks of
-- operations that was a fifth of the work of a ledger call. One function, which is compiled once a connection, checks the same.
create function is_sound_operation(
  operation_id text, kind text, state text, held_diem bigint, held_bundled bigint, held_usd bigint,
  diem bigint, bundled bigint, usd bigint
) returns boolean language plpgsql immutable parallel safe as $$
begin
  if length(operation_id) not between 1 and 200
    or kind not in ('charge', 'refund', 'top_up', 'grant', 'adjustment')
    or state not in ('held', 'settled', 'released', 'expired', 'done') then
    return false;
  end if;
  -- A hold reserves and has moved nothing yet. All else has moved something, never more than its hold.
  if state = 'held' then
    return num_nulls(held_diem, held_bundled, held_usd) = 0 and num_nonnulls(diem, bundled, usd) = 0;
  end if;
  return num_nulls(diem, bundled, usd) = 0
    and (held_usd is null or diem <= held_diem and bundled <= held_bundled and usd <= held_usd);
end $$;

do $$
declare
  write_refund constant text := pg_get_functiondef('ledger_write_refund'::regproc);
  f regprocedure;
begin
  lock table operations in access exclusive mode;
  alter table operations rename to operations_whole;
  create table operations (
    operation_id text collate "C" not null,
    kind text collate "C" not null,
    account_id uuid not null,
    state text not null,
    day date,
    key_id uuid,
    price_usd bigint,
    price_diem bigint,
    held_diem bigint,
    held_bundled bigint,
    held_usd bigint,
    diem bigint,
    bundled bigint,
    usd bigint,
    counterpart text,
    created_at timestamptz not null,
    parent_key_id uuid,
    constraint operations_check check (is_sound_operation(
      operation_id, kind, state, held_diem, held_bundled, held_usd, diem, bundled, usd))
  ) partition by hash (operation_id);
  for part in 0..3 loop
    -- A partitioned table has no fill factor to pass on. Outcomes are written beside their holds.
    execute format('create table operations_%s partition of operations for values with (modulus 4, remainder %s)
      with (fillfactor = 70)', part, part);
    -- Default privileges would let the services change rows of a partition that they name.
    execute format('revoke all on operations_%s from farebox_app', part);
  end loop;
  insert into operations select * from operations_whole;
  -- It takes a row of the former table.
  drop function ledger_write_refund;
  drop table operations_whole;
  alter table operations add primary key (operation_id, kind);
  create index operations_by_time on operations using brin (created_at) with (pages_per_range = 16, autosummarize = on);
  create trigger operations_end_once before update of state on operations for each row
    when (old.state <> 'held') execute function refuse_second_end();
  revoke all on operations from farebox_app;
  grant select, insert, update on operations to farebox_app;
  execute write_refund;
  -- Open connections keep functions that they compiled with rows of the former table until these are made anew.
  for f in select p.oid from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.prosrc ~ '\moperations;' and p.proname <> 'ledger_write_refund'
  loop
    execute pg_get_functiondef(f);
  end loop;
end $$;

-- Below, a call that comes alone touches operations once: a hold writes its row without looking for it first, a resolution
-- changes its row in the statement that reads it. Accounts are found and locked by their open holds: what has ended already
-- needs no lock.

-- One hold by itself (0029).
create or replace function ledger_hold(
  operation_ids text[], account_ids uuid[], key_ids uuid[], usd_prices bigint[], diem_prices bigint[], ttls_ms bigint[],
  snapshots jsonb[]
) returns table (
  outcome text, limited text, part_diem bigint, part_bundled bigint, part_usd bigint, state text, replayed boolean
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  hold_id constant text := operation_ids[1];
  payer constant uuid := account_ids[1];
  by_key constant uuid := key_ids[1];
  price constant bigint := usd_prices[1];
  at timestamptz;
  today date;
  free_usd bigint;
  plain boolean := false;
begin
  if cardinality(operation_ids) = 1 and price > 0 then
    select a.usd_posted - a.usd_held into free_usd
    from accounts a where a.id = payer and a.diem_daily_allocation = 0 and a.bundled_posted = 0 for no key update;
    -- After the lock: whoever waited past midnight belongs to the new day.
    at := ledger_now();
    today := (at at time zone 'UTC')::date;
    if price <= free_usd then
      select not exists (select from diem_days d where d.account_id = payer and (d.day = today) is true)
        and (by_key is null or exists (
          select from api_keys k where k.id = by_key and k.account_id = payer
            and k.parent_id is null and k.limit_usd is null and k.limit_diem is null))
      into plain;
    end if;
    if plain then
      insert into operations (operation_id, kind, account_id, state, day, key_id, price_usd, price_diem,
        held_diem, held_bundled, held_usd, created_at)
      values (hold_id, 'charge', payer, 'held', today, by_key, price, diem_prices[1], 0, 0, price, at)
      on conflict do nothing;
      plain := found;
    end if;
  end if;
  if not plain then
    return query
      select h.outcome, h.limited, h.part_diem, h.part_bundled, h.part_usd, h.state, h.replayed
      from ledger_admit(true, operation_ids, account_ids, key_ids, usd_prices, diem_prices, ttls_ms, snapshots) h
      order by h.ord;
    return;
  end if;

  update accounts a set usd_held = a.usd_held + price where a.id = payer;
  if by_key is not null then
    insert into key_days as u (key_id, day, usd_held) values (by_key, today, price)
    on conflict (key_id, day) do update set usd_held = u.usd_held + excluded.usd_held;
  end if;
  insert into holds (operation_id, account_id, expires_at, snapshot)
  values (hold_id, payer, at + ttls_ms[1] * interval '1 millisecond', snapshots[1]);
  outcome := 'held'; part_diem := 0; part_bundled := 0; part_usd := price; state := 'held'; replayed := false;
  return next;
end $$;

-- One resolution by itself (0031).
create or replace function ledger_end_holds(
  operation_ids text[], resolutions text[], usd_prices bigint[], diem_prices bigint[], details jsonb[]
) returns table (
  outcome text, part_diem bigint, part_bundled bigint, part_usd bigint, replayed boolean
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  hold_id constant text := operation_ids[1];
  resolution constant text := resolutions[1];
  plain boolean := false;
  r record;
  due bigint;
  taken bigint;
  snapshot jsonb;
  rest record;
begin
  if cardinality(operation_ids) = 1 then
    perform from accounts where id = (select h.account_id from holds h where h.operation_id = hold_id) for no key update;
    -- What is not there yet has no lock either: a hold that is being written at this moment is left to the general way.
    if found then
      -- Null: not sold for usd.
      due := ledger_rest(usd_prices[1], diem_prices[1], 0);
      update operations o set state = resolution, diem = 0, bundled = 0, usd = least(coalesce(due, 0), o.held_usd),
        price_usd = case when resolution = 'settled' then usd_prices[1] else o.price_usd end,
        price_diem = case when resolution = 'settled' then diem_prices[1] else o.price_diem end
      where o.operation_id = hold_id and (o.kind = 'charge') is true and o.state = 'held'
        and o.held_diem = 0 and o.held_bundled = 0 and o.parent_key_id is null
      returning o.account_id, o.key_id, o.day, o.held_usd, o.usd into r;
      plain := found;
    end if;
  end if;
  if not plain then
    return query
      select e.outcome, e.part_diem, e.part_bundled, e.part_usd, e.replayed
      from ledger_resolve(operation_ids, resolutions, usd_prices, diem_prices, details) e order by e.ord;
    return;
  end if;

  taken := r.usd;
  delete from holds h where h.operation_id = hold_id returning case
    when details[1] is null then h.snapshot else h.snapshot || details[1] end into snapshot;
  if taken > 0 then
    insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    values (ledger_now(), hold_id, 'charge', r.account_id, 'revenue', 'usd', -taken, r.day, r.key_id, snapshot);
  end if;
  update accounts a set usd_held = a.usd_held - r.held_usd, usd_posted = a.usd_posted - taken where a.id = r.account_id;
  if r.key_id is not null then
    update key_days u set usd_held = u.usd_held - r.held_usd, usd_used = u.usd_used + taken
    where u.key_id = r.key_id and u.day = r.day;
  end if;
  outcome := resolution; part_diem := 0; part_bundled := 0; part_usd := taken; replayed := false;
  if resolution = 'settled' and taken is distinct from due then
    select t.* into rest from ledger_unpaid(usd_prices[1], diem_prices[1], 0, taken) p
      cross join ledger_take_rest(hold_id, r.account_id, r.key_id, p.usd, p.diem, ledger_describe_rest(snapshot, hold_id)) t;
    part_diem := rest.part_diem; part_bundled := rest.part_bundled; part_usd := taken + rest.part_usd;
  end if;
  return next;
end $$;

-- Resolutions of a batch (0031).
create or replace function ledger_resolve(
  operation_ids text[], resolutions text[], usd_prices bigint[], diem_prices bigint[], details jsonb[]
) returns table (
  ord bigint, outcome text, part_diem bigint, part_bundled bigint, part_usd bigint, replayed boolean
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  n constant int := cardinality(operation_ids);
  at timestamptz;
  r record;
  i int;
  x_rest bigint;
  outcomes text[] := array_fill(null::text, array[n]);
  diems bigint[] := array_fill(0::bigint, array[n]);
  bundleds bigint[] := array_fill(0::bigint, array[n]);
  usds bigint[] := array_fill(0::bigint, array[n]);
  replays boolean[] := array_fill(false, array[n]);
  -- Of those that this call resolves, null for all others.
  accounts_of uuid[] := array_fill(null::uuid, array[n]);
  keys_of uuid[] := array_fill(null::uuid, array[n]);
  parents_of uuid[] := array_fill(null::uuid, array[n]);
  days date[] := array_fill(null::date, array[n]);
  held_diems bigint[] := array_fill(null::bigint, array[n]);
  held_bundleds bigint[] := array_fill(null::bigint, array[n]);
  held_usds bigint[] := array_fill(null::bigint, array[n]);
  snapshots jsonb[] := array_fill(null::jsonb, array[n]);
  any_diem boolean := false; any_resolved boolean := false; any_parent boolean := false;
  x_due bigint;
  -- The first of this call with the same operation, and prices of what the hold does not cover; null without.
  firsts int[] := array_fill(null::int, array[n]);
  rest_usds bigint[] := array_fill(null::bigint, array[n]);
  rest_diems bigint[] := array_fill(null::bigint, array[n]);
  any_later boolean := false;
  t record;
begin
  perform 1 from accounts where id = any (array(
    select h.account_id from holds h where h.operation_id = any (operation_ids)
  )) order by id for no key update;
  at := ledger_now();

  for r in
    select q.ord, q.resolution, q.usd_price, q.diem_price, q.details,
      min(q.ord) over (partition by q.operation_id) as first_ord,
      o.account_id, o.key_id, o.parent_key_id, o.day, o.state, o.held_diem, o.held_bundled, o.held_usd, o.diem, o.bundled, o.usd,
      h.snapshot
    from unnest(operation_ids, resolutions, usd_prices, diem_prices, details)
      with ordinality as q (operation_id, resolution, usd_price, diem_price, details, ord)
    left join operations o on o.operation_id = q.operation_id and (o.kind = 'charge') is true
    left join holds h on h.operation_id = q.operation_id
    order by q.ord
  loop
    i := r.ord;
    if r.state is null then
      outcomes[i] := 'no_hold';
    elsif r.state <> 'held' then
      outcomes[i] := r.state; replays[i] := true;
      select r.diem + coalesce(sum(o.diem), 0) as diem, r.bundled + coalesce(sum(o.bundled), 0) as bundled,
        r.usd + coalesce(sum(o.usd), 0) as usd into t
      from operations o
      where r.state = 'settled' and o.operation_id = operation_ids[i] || ':rest' and (o.kind = 'charge') is true;
      diems[i] := t.diem; bundleds[i] := t.bundled; usds[i] := t.usd;
    elsif r.first_ord < i then
      outcomes[i] := outcomes[r.first_ord]; replays[i] := true; firsts[i] := r.first_ord; any_later := true;
    else
      outcomes[i] := r.resolution; any_resolved := true;
      accounts_of[i] := r.account_id; keys_of[i] := r.key_id; days[i] := r.day;
      held_diems[i] := r.held_diem; held_bundleds[i] := r.held_bundled; held_usds[i] := r.held_usd;
      if r.parent_key_id is not null then
        parents_of[i] := r.parent_key_id; any_parent := true;
      end if;
      snapshots[i] := case when r.details is null then r.snapshot else r.snapshot || r.details end;
      diems[i] := least(r.diem_price, r.held_diem);
      -- Null: not sold for usd.
      x_due := ledger_rest(r.usd_price, r.diem_price, diems[i]);
      x_rest := least(coalesce(x_due, 0), r.held_bundled + r.held_usd);
      if r.resolution = 'settled' and x_rest is distinct from x_due then
        select p.usd, p.diem into t from ledger_unpaid(r.usd_price, r.diem_price, diems[i], x_rest) p;
        rest_usds[i] := t.usd; rest_diems[i] := t.diem; any_later := true;
      end if;
      bundleds[i] := least(x_rest, r.held_bundled);
      usds[i] := x_rest - bundleds[i];
      any_diem := any_diem or r.held_diem > 0;
    end if;
  end loop;

  if any_resolved then
    delete from holds h using unnest(operation_ids, accounts_of) as q (operation_id, account_id)
    where h.operation_id = q.operation_id and q.account_id is not null;

    update operations o set state = q.outcome, diem = q.diem, bundled = q.bundled, usd = q.usd,
      price_usd = case when q.outcome = 'settled' then q.usd_price else o.price_usd end,
      price_diem = case when q.outcome = 'settled' then q.diem_price else o.price_diem end
    from unnest(operation_ids, accounts_of, outcomes, diems, bundleds, usds, usd_prices, diem_prices)
      as q (operation_id, account_id, outcome, diem, bundled, usd, usd_price, diem_price)
    where o.operation_id = q.operation_id and (o.kind = 'charge') is true and q.account_id is not null;

    insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    select at, q.operation_id, 'charge', q.account_id, 'revenue', p.currency, -p.amount, q.day, q.key_id, q.snapshot
    from unnest(operation_ids, accounts_of, keys_of, days, diems, bundleds, usds, snapshots)
      with ordinality as q (operation_id, account_id, key_id, day, diem, bundled, usd, snapshot, ord)
    cross join lateral (values ('diem', q.diem), ('bundled', q.bundled), ('usd', q.usd)) p (currency, amount)
    where q.account_id is not null and p.amount > 0
    order by q.ord;

    update accounts a set
      usd_held = a.usd_held - s.held_usd, usd_posted = a.usd_posted - s.usd,
      bundled_held = a.bundled_held - s.held_bundled, bundled_posted = a.bundled_posted - s.bundled
    from (
      select q.account_id, sum(q.held_usd)::bigint as held_usd, sum(q.usd)::bigint as usd,
        sum(q.held_bundled)::bigint as held_bundled, sum(q.bundled)::bigint as bundled
      from unnest(accounts_of, held_bundleds, held_usds, bundleds, usds)
        as q (account_id, held_bundled, held_usd, bundled, usd)
      where q.account_id is not null and q.held_bundled + q.held_usd > 0 group by q.account_id
    ) s
    where a.id = s.account_id;

    if any_diem then
      update diem_days d set held = d.held - s.held, posted = d.posted - s.diem
      from (
        select q.account_id, q.day, sum(q.held)::bigint as held, sum(q.diem)::bigint as diem
        from unnest(accounts_of, days, held_diems, diems) as q (account_id, day, held, diem)
        where q.account_id is not null and q.held > 0 group by q.account_id, q.day
      ) s
      where d.account_id = s.account_id and d.day = s.day;
    end if;

    update key_days u set
      usd_held = u.usd_held - s.held_usd, usd_used = u.usd_used + s.usd,
      diem_held = u.diem_held - s.held_diem, diem_used = u.diem_used + s.diem
    from (
      select q.key_id, q.day, sum(q.held_usd)::bigint as held_usd, sum(q.usd)::bigint as usd,
        sum(q.held_diem)::bigint as held_diem, sum(q.diem)::bigint as diem
      from (
        select p.key_id, p.day, p.held_usd + p.held_bundled as held_usd, p.usd + p.bundled as usd, p.held_diem, p.diem
        from unnest(keys_of, days, held_diems, held_bundleds, held_usds, diems, bundleds, usds)
          as p (key_id, day, held_diem, held_bundled, held_usd, diem, bundled, usd)
        where p.key_id is not null
        union all
        select p.parent_id, p.day, p.held_usd + p.held_bundled, p.usd + p.bundled, p.held_diem, p.diem
        from unnest(parents_of, days, held_diems, held_bundleds, held_usds, diems, bundleds, usds)
          as p (parent_id, day, held_diem, held_bundled, held_usd, diem, bundled, usd)
        where any_parent and p.parent_id is not null
      ) q
      group by q.key_id, q.day
    ) s
    where u.key_id = s.key_id and u.day = s.day;
  end if;

  if any_later then
    -- After what was held too much is free again.
    for i in 1..n loop
      if firsts[i] is not null then
        diems[i] := diems[firsts[i]]; bundleds[i] := bundleds[firsts[i]]; usds[i] := usds[firsts[i]];
      elsif rest_usds[i] > 0 or rest_diems[i] > 0 then
        select * into t from ledger_take_rest(operation_ids[i], accounts_of[i], keys_of[i], rest_usds[i], rest_diems[i],
          ledger_describe_rest(snapshots[i], operation_ids[i]));
        diems[i] := diems[i] + t.part_diem; bundleds[i] := bundleds[i] + t.part_bundled; usds[i] := usds[i] + t.part_usd;
      end if;
    end loop;
  end if;

  return query
    select q.ord, q.outcome, q.diem, q.bundled, q.usd, q.replayed
    from unnest(outcomes, diems, bundleds, usds, replays) with ordinality as q (outcome, diem, bundled, usd, replayed, ord);
end $$;

-- Resolutions and holds of the same moment in one statement (0029).
create or replace function ledger_resolve_and_hold(
  resolve_ids text[], resolutions text[], settled_usd bigint[], settled_diem bigint[], details jsonb[],
  hold_ids text[], account_ids uuid[], key_ids uuid[], usd_prices bigint[], diem_prices bigint[], ttls_ms bigint[],
  snapshots jsonb[]
) returns table (
  outcome text, limited text, part_diem bigint, part_bundled bigint, part_usd bigint, state text, replayed boolean
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
begin
  perform 1 from accounts where id = any (account_ids || array(
    select h.account_id from holds h where h.operation_id = any (resolve_ids)
  )) order by id for no key update;
  return query
    select r.outcome, null::text, r.part_diem, r.part_bundled, r.part_usd, null::text, r.replayed
    from ledger_end_holds(resolve_ids, resolutions, settled_usd, settled_diem, details) r;
  return query
    select h.outcome, h.limited, h.part_diem, h.part_bundled, h.part_usd, h.state, h.replayed
    from ledger_hold(hold_ids, account_ids, key_ids, usd_prices, diem_prices, ttls_ms, snapshots) h;
end $$;

-- Down Migration

do $$ begin raise exception 'partitions are not taken back: restore a backup from before this migration'; end $$;

-- Up Migration

-- A bill above its hold: the hold is settled in full, and the rest is taken by a second operation `<id>:rest`, as far as the
-- account's free funds and the limits of its key and the key's parent reach. The same operation takes the whole bill of a
-- hold that has ended without it. It is booked as a charge of the day on which it is taken: `held_…` is what could be had
-- of its price, all of which it took, so `price_…` less the parts is what nobody paid.

-- What is still to be paid of a price after `diem` and `usd` (with bundled credit): in usd, and in diem if diem pays for it.
-- Rounded up, so that whoever pays it owes nothing.
create function ledger_unpaid(usd_price bigint, diem_price bigint, paid_diem bigint, paid_usd bigint)
returns table (usd bigint, diem bigint) language sql immutable parallel safe as $$
  select r.usd, case
    when diem_price = 0 then 0
    when usd_price = 0 then greatest(diem_price - paid_diem, 0)
    else least(greatest(diem_price - paid_diem, 0), div(diem_price::numeric * r.usd + usd_price - 1, usd_price))::bigint end
  from (select greatest(coalesce(ledger_rest(usd_price, diem_price, paid_diem), 0) - paid_usd, 0) as usd) r
$$;

-- The snapshot of a rest beside its settled hold: that one names the units and counts already.
create function ledger_describe_rest(snapshot jsonb, charge_id text) returns jsonb language sql immutable parallel safe as $$
  select snapshot - array['promptTokens', 'completionTokens', 'inferenceExecutionTime']
    || jsonb_build_object('units', '0', 'restOf', charge_id,
      'notes', coalesce(snapshot ->> 'notes', 'API Inference') || '; beyond the amount held')
$$;

-- Takes as much of a price as fits, once: a repetition returns the first parts. No row when there is no such account.
create function ledger_take_rest(
  charge_id text, payer uuid, by_key uuid, usd_price bigint, diem_price bigint, snapshot jsonb
) returns table (part_diem bigint, part_bundled bigint, part_usd bigint, replayed boolean) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  rest_id constant text := charge_id || ':rest';
  at timestamptz;
  today date;
  a accounts;
  free_diem bigint;
  parent uuid;
  k_usd bigint; k_diem bigint;
begin
  select * into a from accounts where id = payer for no key update;
  if not found then
    return;
  end if;
  return query
    select o.diem, o.bundled, o.usd, true from operations o
    where o.operation_id = rest_id and (o.kind = 'charge') is true and o.account_id = payer;
  if found then
    return;
  end if;
  -- After the lock: whoever waited past midnight belongs to the new day.
  at := ledger_now();
  today := (at at time zone 'UTC')::date;
  free_diem := coalesce(
    (select d.posted - d.held from diem_days d where d.account_id = payer and (d.day = today) is true),
    a.diem_daily_allocation);
  parent := (select k.parent_id from api_keys k where k.id = by_key);
  select min(k.limit_usd - used.usd), min(k.limit_diem - used.diem) into k_usd, k_diem
  from api_keys k cross join lateral (
    select coalesce(sum(u.usd_used + u.usd_held), 0)::bigint as usd,
      coalesce(sum(u.diem_used + u.diem_held), 0)::bigint as diem
    from key_days u
    where u.key_id = k.id and u.day >= ledger_period_start(k.limit_period, today)
  ) used
  where k.id in (by_key, parent);

  -- Null is no limit, and least() passes over nulls.
  part_diem := greatest(least(diem_price, free_diem, k_diem), 0);
  part_usd := greatest(least(coalesce(ledger_rest(usd_price, diem_price, part_diem), 0),
    a.bundled_posted - a.bundled_held + a.usd_posted - a.usd_held, k_usd), 0);
  part_bundled := least(a.bundled_posted - a.bundled_held, part_usd);
  part_usd := part_usd - part_bundled;
  replayed := false;

  if part_diem > 0 then
    perform ledger_open_diem(array[payer], today, at);
    update diem_days d set posted = d.posted - part_diem where d.account_id = payer and (d.day = today) is true;
  end if;
  update accounts set usd_posted = usd_posted - part_usd, bundled_posted = bundled_posted - part_bundled where id = payer;
  insert into key_days as u (key_id, day, usd_used, diem_used)
  select k.key_id, today, part_bundled + part_usd, part_diem from (values (by_key), (parent)) k (key_id)
  where k.key_id is not null
  on conflict (key_id, day) do update set
    usd_used = u.usd_used + excluded.usd_used, diem_used = u.diem_used + excluded.diem_used;
  insert into operations (operation_id, kind, account_id, state, day, key_id, parent_key_id, price_usd, price_diem,
    held_diem, held_bundled, held_usd, diem, bundled, usd, created_at)
  values (rest_id, 'charge', payer, 'settled', today, by_key, parent, usd_price, diem_price,
    part_diem, part_bundled, part_usd, part_diem, part_bundled, part_usd, at);
  insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
  select at, rest_id, 'charge', payer, 'revenue', p.currency, -p.amount, today, by_key, snapshot
  from (values ('diem', part_diem), ('bundled', part_bundled), ('usd', part_usd)) p (currency, amount)
  where p.amount > 0;
  return next;
end $$;

-- The way out of holds (0017). A bill above its hold takes the rest by a second operation in the same statement; `part_…`
-- are the sums of both, also when a resolution is repeated.
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
    select o.account_id from operations o where o.operation_id = any (operation_ids) and (o.kind = 'charge') is true
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

-- The way out of holds, one by itself if it is a plain one (0029).
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
  rest record;
begin
  if cardinality(operation_ids) = 1 then
    perform from accounts where id = (
      select o.account_id from operations o where o.operation_id = hold_id and (o.kind = 'charge') is true
    ) for no key update;
    -- What is not there yet has no lock either: a hold that is being written at this moment is left to the general way.
    if found then
      delete from holds h using operations o
      where h.operation_id = hold_id and o.operation_id = hold_id and (o.kind = 'charge') is true and o.state = 'held'
        and o.held_diem = 0 and o.held_bundled = 0 and o.parent_key_id is null
      returning o.account_id, o.key_id, o.day, o.held_usd, h.snapshot into r;
      plain := found;
    end if;
  end if;
  if not plain then
    return query
      select e.outcome, e.part_diem, e.part_bundled, e.part_usd, e.replayed
      from ledger_resolve(operation_ids, resolutions, usd_prices, diem_prices, details) e order by e.ord;
    return;
  end if;

  -- Null: not sold for usd.
  due := ledger_rest(usd_prices[1], diem_prices[1], 0);
  taken := least(coalesce(due, 0), r.held_usd);
  update operations o set state = resolution, diem = 0, bundled = 0, usd = taken,
    price_usd = case when resolution = 'settled' then usd_prices[1] else o.price_usd end,
    price_diem = case when resolution = 'settled' then diem_prices[1] else o.price_diem end
  where o.operation_id = hold_id and (o.kind = 'charge') is true;
  if taken > 0 then
    insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    values (ledger_now(), hold_id, 'charge', r.account_id, 'revenue', 'usd', -taken, r.day, r.key_id,
      case when details[1] is null then r.snapshot else r.snapshot || details[1] end);
  end if;
  update accounts a set usd_held = a.usd_held - r.held_usd, usd_posted = a.usd_posted - taken where a.id = r.account_id;
  if r.key_id is not null then
    update key_days u set usd_held = u.usd_held - r.held_usd, usd_used = u.usd_used + taken
    where u.key_id = r.key_id and u.day = r.day;
  end if;
  outcome := resolution; part_diem := 0; part_bundled := 0; part_usd := taken; replayed := false;
  if resolution = 'settled' and taken is distinct from due then
    select t.* into rest from ledger_unpaid(usd_prices[1], diem_prices[1], 0, taken) p
      cross join ledger_take_rest(hold_id, r.account_id, r.key_id, p.usd, p.diem, ledger_describe_rest(
        case when details[1] is null then r.snapshot else r.snapshot || details[1] end, hold_id)) t;
    part_diem := rest.part_diem; part_bundled := rest.part_bundled; part_usd := taken + rest.part_usd;
  end if;
  return next;
end $$;

-- No way down: bills above their holds are in the books.

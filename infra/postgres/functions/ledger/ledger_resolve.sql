-- Ends holds: settles, releases or expires them. The arrays have one element per request: `resolutions` is settled,
-- released or expired; the prices are the bill in nano units, 0 unless settled; `details` is merged into the snapshot.
--
-- Returns a row per request (`ord`). Outcomes: the resolution, or no_hold when no hold had that id. The first
-- resolution of a hold stands, and a later one gets its outcome with `replayed`. A bill above its hold takes the rest
-- by a second operation `<id>:rest`; `part_…` are the sums of both, also when a resolution is repeated.
--
-- Accounts are found and locked by their open holds: an operation that has ended needs no lock.
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
  x ledger_parts;
  outcomes text[] := array_fill(null::text, array[n]);
  diems bigint[] := array_fill(0::bigint, array[n]);
  bundleds bigint[] := array_fill(0::bigint, array[n]);
  usds bigint[] := array_fill(0::bigint, array[n]);
  replays boolean[] := array_fill(false, array[n]);
  -- For what this call resolves, null for all others.
  accounts_of uuid[] := array_fill(null::uuid, array[n]);
  keys_of uuid[] := array_fill(null::uuid, array[n]);
  parents_of uuid[] := array_fill(null::uuid, array[n]);
  days date[] := array_fill(null::date, array[n]);
  held_diems bigint[] := array_fill(null::bigint, array[n]);
  held_bundleds bigint[] := array_fill(null::bigint, array[n]);
  held_usds bigint[] := array_fill(null::bigint, array[n]);
  snapshots jsonb[] := array_fill(null::jsonb, array[n]);
  any_diem boolean := false; any_resolved boolean := false; any_parent boolean := false;
  -- Index of the first request of this call with the same operation, and prices of what the hold does not cover.
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
      o.account_id, o.key_id, o.parent_key_id, o.day, o.state, o.held_diem, o.held_bundled, o.held_usd,
      o.diem, o.bundled, o.usd, h.snapshot
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
      x := ledger_split(r.usd_price, r.diem_price, r.held_diem, r.held_bundled, r.held_usd, null, null);
      diems[i] := x.diem; bundleds[i] := x.bundled; usds[i] := x.usd;
      if r.resolution = 'settled' and x.bundled + x.usd is distinct from x.due then
        select p.usd, p.diem into t from ledger_unpaid(r.usd_price, r.diem_price, x.diem, x.bundled + x.usd) p;
        rest_usds[i] := t.usd; rest_diems[i] := t.diem; any_later := true;
      end if;
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
    -- Rests are taken after the unused part of every hold is free again.
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

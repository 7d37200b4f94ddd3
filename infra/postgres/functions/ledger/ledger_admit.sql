-- Admits charges: decides whether each account and key can pay, and then holds (`as_hold`) or charges the price at
-- once. The arrays have one element per request; `ttls_ms` is the lifetime of a hold. Requests are decided in their
-- order, as if each were a call of its own. Each is admitted in full or changes nothing.
--
-- Returns a row per request (`ord`). Outcomes: held, charged, insufficient, key_limit (`limited` is the currency), and
-- for wrong requests no_account, no_key, conflict (the id names another charge). `part_…` are the amounts per currency,
-- `state` is that of the charge. A repeated id returns its first result with `replayed`. When a request does not fit,
-- due holds of its account are expired, and all requests are decided again, once.
--
-- `(kind = 'charge') is true`: without statistics the planner assumes that one row meets `kind = 'charge'`, and scans
-- an index of all operations by kind. With `is true` no index on kind applies, and the index of the id is used. The
-- same holds for the day of a diem row.
create or replace function ledger_admit(
  as_hold boolean, operation_ids text[], account_ids uuid[], key_ids uuid[],
  usd_prices bigint[], diem_prices bigint[], ttls_ms bigint[], snapshots jsonb[]
) returns table (
  ord bigint, outcome text, limited text, part_diem bigint, part_bundled bigint, part_usd bigint, state text,
  replayed boolean
) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  n constant int := cardinality(operation_ids);
  success constant text := case when as_hold then 'held' else 'charged' end;
  first_state constant text := case when as_hold then 'held' else 'settled' end;
  at timestamptz;
  today date;
  r record;
  i int;
  walked uuid;
  free_diem bigint; free_bundled bigint; free_usd bigint;
  room_seen boolean[] := '{}'; room_usd bigint[] := '{}'; room_diem bigint[] := '{}';
  -- The rooms of parents that no request names follow those of the requests' own keys.
  parents uuid[] := '{}'; p_slot int; room record;
  k_usd bigint; k_diem bigint; x ledger_parts; y ledger_parts;
  admitted boolean[] := array_fill(false, array[n]);
  outcomes text[] := array_fill(null::text, array[n]);
  limits text[] := array_fill(null::text, array[n]);
  diems bigint[] := array_fill(0::bigint, array[n]);
  bundleds bigint[] := array_fill(0::bigint, array[n]);
  usds bigint[] := array_fill(0::bigint, array[n]);
  states text[] := array_fill(null::text, array[n]);
  replays boolean[] := array_fill(false, array[n]);
  -- Parent keys of what was admitted with a child key, null for all others.
  parents_of uuid[] := array_fill(null::uuid, array[n]);
  any_diem boolean := false; any_admitted boolean := false; any_parent boolean := false;
  -- Accounts with open holds and a refused call.
  refused uuid[] := '{}';
begin
  perform 1 from accounts where id = any (account_ids) order by id for no key update;
  -- After the locks: a call that waited past midnight belongs to the new day.
  at := ledger_now();
  today := (at at time zone 'UTC')::date;

  for attempt in 1..2 loop
    for r in
      select q.ord, q.account_id, q.usd, q.diem,
        a.id is null as no_account,
        q.key_id is not null and k.account_id is distinct from q.account_id as no_key,
        coalesce(d.posted - d.held, a.diem_daily_allocation) as free_diem,
        a.bundled_posted - a.bundled_held as free_bundled,
        a.usd_posted - a.usd_held as free_usd,
        a.usd_held + a.bundled_held + coalesce(d.held, 0) > 0 as has_holds,
        min(q.ord) over (partition by q.key_id) as slot,
        k.parent_id,
        k.limit_usd - used.usd as room_usd,
        k.limit_diem - used.diem as room_diem,
        min(q.ord) over (partition by q.operation_id) as first_ord,
        o.account_id as known_account, o.state as known_state, o.held_usd is not null as known_hold,
        coalesce(o.held_diem, o.diem) as known_diem, coalesce(o.held_bundled, o.bundled) as known_bundled,
        coalesce(o.held_usd, o.usd) as known_usd
      from unnest(operation_ids, account_ids, key_ids, usd_prices, diem_prices)
        with ordinality as q (operation_id, account_id, key_id, usd, diem, ord)
      left join accounts a on a.id = q.account_id
      left join lateral (
        select d.posted, d.held from diem_days d where d.account_id = q.account_id and d.day = today limit 1
      ) d on true
      left join operations o on o.operation_id = q.operation_id and (o.kind = 'charge') is true
      left join api_keys k on k.id = q.key_id
      left join lateral (
        select coalesce(sum(u.usd_used + u.usd_held), 0)::bigint as usd,
          coalesce(sum(u.diem_used + u.diem_held), 0)::bigint as diem
        from key_days u
        where u.key_id = k.id and u.day >= ledger_period_start(k.limit_period, today)
      ) used on k.limit_usd is not null or k.limit_diem is not null
      order by q.account_id, q.ord
    loop
      i := r.ord;
      if walked is distinct from r.account_id then
        walked := r.account_id;
        free_diem := r.free_diem; free_bundled := r.free_bundled; free_usd := r.free_usd;
      end if;
      if r.known_account is not null then
        if r.known_account <> r.account_id or r.known_hold <> as_hold then
          outcomes[i] := 'conflict';
        else
          outcomes[i] := success; states[i] := r.known_state; replays[i] := true;
          diems[i] := r.known_diem; bundleds[i] := r.known_bundled; usds[i] := r.known_usd;
        end if;
        continue;
      elsif r.first_ord < i then
        if account_ids[r.first_ord] <> r.account_id then
          outcomes[i] := 'conflict';
        else
          outcomes[i] := outcomes[r.first_ord]; limits[i] := limits[r.first_ord]; states[i] := states[r.first_ord];
          diems[i] := diems[r.first_ord]; bundleds[i] := bundleds[r.first_ord]; usds[i] := usds[r.first_ord];
          replays[i] := admitted[r.first_ord];
        end if;
        continue;
      elsif r.no_account or r.no_key then
        outcomes[i] := case when r.no_account then 'no_account' else 'no_key' end;
        continue;
      end if;

      if room_seen[r.slot] is null then
        room_seen[r.slot] := true; room_usd[r.slot] := r.room_usd; room_diem[r.slot] := r.room_diem;
      end if;
      -- A null room is no limit: least() passes over nulls.
      k_usd := room_usd[r.slot]; k_diem := room_diem[r.slot];
      if r.parent_id is not null then
        p_slot := array_position(key_ids, r.parent_id);
        if p_slot is null then
          if array_position(parents, r.parent_id) is null then parents := parents || r.parent_id; end if;
          p_slot := n + array_position(parents, r.parent_id);
        end if;
        if room_seen[p_slot] is null then
          room_seen[p_slot] := true;
          select k.limit_usd - used.usd as usd, k.limit_diem - used.diem as diem into room
          from api_keys k cross join lateral (
            select coalesce(sum(u.usd_used + u.usd_held), 0)::bigint as usd,
              coalesce(sum(u.diem_used + u.diem_held), 0)::bigint as diem
            from key_days u
            where u.key_id = k.id and u.day >= ledger_period_start(k.limit_period, today)
          ) used
          where k.id = r.parent_id and (k.limit_usd is not null or k.limit_diem is not null);
          room_usd[p_slot] := room.usd; room_diem[p_slot] := room.diem;
        end if;
        k_usd := least(k_usd, room_usd[p_slot]); k_diem := least(k_diem, room_diem[p_slot]);
      end if;
      x := ledger_split(r.usd, r.diem, free_diem, free_bundled, free_usd, k_diem, k_usd);
      if x.bundled + x.usd = x.due then
        admitted[i] := true; any_admitted := true; outcomes[i] := success; states[i] := first_state;
        diems[i] := x.diem; bundleds[i] := x.bundled; usds[i] := x.usd;
        free_diem := free_diem - x.diem; free_bundled := free_bundled - x.bundled; free_usd := free_usd - x.usd;
        -- Without a limit the room stays null.
        room_usd[r.slot] := room_usd[r.slot] - x.due; room_diem[r.slot] := room_diem[r.slot] - x.diem;
        if r.parent_id is not null then
          room_usd[p_slot] := room_usd[p_slot] - x.due; room_diem[p_slot] := room_diem[p_slot] - x.diem;
          parents_of[i] := r.parent_id; any_parent := true;
        end if;
        any_diem := any_diem or x.diem > 0;
      else
        -- The limit without which the price would have been covered.
        y := ledger_split(r.usd, r.diem, free_diem, free_bundled, free_usd, null, k_usd);
        outcomes[i] := 'key_limit';
        if x.due <= free_bundled + free_usd then
          limits[i] := 'usd';
        elsif y.due <= free_bundled + free_usd then
          limits[i] := case when y.bundled + y.usd = y.due then 'diem' else 'usd' end;
        else
          outcomes[i] := 'insufficient';
        end if;
        if r.has_holds and not r.account_id = any (refused) then refused := refused || r.account_id; end if;
      end if;
    end loop;
    exit when attempt = 2 or refused = '{}' or ledger_expire_own(refused) = 0;
    -- Every call is decided anew: no row was written yet.
    walked := null; room_seen := '{}'; room_usd := '{}'; room_diem := '{}'; parents := '{}';
    admitted := array_fill(false, array[n]); replays := admitted;
    outcomes := array_fill(null::text, array[n]); limits := outcomes; states := outcomes;
    diems := array_fill(0::bigint, array[n]); bundleds := diems; usds := diems;
    parents_of := array_fill(null::uuid, array[n]);
    any_diem := false; any_admitted := false; any_parent := false;
  end loop;

  if any_admitted then
    if any_diem then
      perform ledger_open_diem(array(
        select distinct q.account_id from unnest(account_ids, diems, admitted) as q (account_id, diem, admitted)
        where q.admitted and q.diem > 0), today, at);
      update diem_days d set
        held = d.held + case when as_hold then s.diem else 0 end,
        posted = d.posted - case when as_hold then 0 else s.diem end
      from (
        select q.account_id, sum(q.diem)::bigint as diem
        from unnest(account_ids, diems, admitted) as q (account_id, diem, admitted)
        where q.admitted and q.diem > 0 group by q.account_id
      ) s
      where d.account_id = s.account_id and (d.day = today) is true;
    end if;

    update accounts a set
      usd_held = a.usd_held + case when as_hold then s.usd else 0 end,
      usd_posted = a.usd_posted - case when as_hold then 0 else s.usd end,
      bundled_held = a.bundled_held + case when as_hold then s.bundled else 0 end,
      bundled_posted = a.bundled_posted - case when as_hold then 0 else s.bundled end
    from (
      select q.account_id, sum(q.usd)::bigint as usd, sum(q.bundled)::bigint as bundled
      from unnest(account_ids, bundleds, usds, admitted) as q (account_id, bundled, usd, admitted)
      where q.admitted group by q.account_id
    ) s
    where a.id = s.account_id and (s.usd > 0 or s.bundled > 0);

    insert into key_days as u (key_id, day, usd_used, usd_held, diem_used, diem_held)
    select q.key_id, today,
      case when as_hold then 0 else sum(q.usd) end, case when as_hold then sum(q.usd) else 0 end,
      case when as_hold then 0 else sum(q.diem) end, case when as_hold then sum(q.diem) else 0 end
    from (
      select p.key_id, p.bundled + p.usd as usd, p.diem
      from unnest(key_ids, diems, bundleds, usds, admitted) as p (key_id, diem, bundled, usd, admitted)
      where p.admitted and p.key_id is not null
      union all
      select p.parent_id, p.bundled + p.usd, p.diem
      from unnest(parents_of, diems, bundleds, usds) as p (parent_id, diem, bundled, usd)
      where any_parent and p.parent_id is not null
    ) q
    group by q.key_id
    on conflict (key_id, day) do update set
      usd_used = u.usd_used + excluded.usd_used, usd_held = u.usd_held + excluded.usd_held,
      diem_used = u.diem_used + excluded.diem_used, diem_held = u.diem_held + excluded.diem_held;

    insert into operations (operation_id, kind, account_id, state, day, key_id, parent_key_id, price_usd, price_diem,
      held_diem, held_bundled, held_usd, diem, bundled, usd, created_at)
    select q.operation_id, 'charge', q.account_id, first_state, today, q.key_id, q.parent_id, q.usd_price, q.diem_price,
      case when as_hold then q.diem end, case when as_hold then q.bundled end, case when as_hold then q.usd end,
      case when not as_hold then q.diem end, case when not as_hold then q.bundled end,
      case when not as_hold then q.usd end, at
    from unnest(operation_ids, account_ids, key_ids, parents_of, usd_prices, diem_prices, diems, bundleds, usds, admitted)
      as q (operation_id, account_id, key_id, parent_id, usd_price, diem_price, diem, bundled, usd, admitted)
    where q.admitted;

    if as_hold then
      insert into holds (operation_id, account_id, expires_at, snapshot)
      select q.operation_id, q.account_id, at + q.ttl_ms * interval '1 millisecond', q.snapshot
      from unnest(operation_ids, account_ids, ttls_ms, snapshots, admitted)
        as q (operation_id, account_id, ttl_ms, snapshot, admitted)
      where q.admitted;
    else
      insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
      select at, q.operation_id, 'charge', q.account_id, 'revenue', p.currency, -p.amount, today, q.key_id, q.snapshot
      from unnest(operation_ids, account_ids, key_ids, diems, bundleds, usds, snapshots, admitted)
        with ordinality as q (operation_id, account_id, key_id, diem, bundled, usd, snapshot, admitted, ord)
      cross join lateral (values ('diem', q.diem), ('bundled', q.bundled), ('usd', q.usd)) p (currency, amount)
      where q.admitted and p.amount > 0
      order by q.ord;
    end if;
  end if;

  return query
    select q.ord, q.outcome, q.limited, q.diem, q.bundled, q.usd, q.state, q.replayed
    from unnest(outcomes, limits, diems, bundleds, usds, states, replays)
      with ordinality as q (outcome, limited, diem, bundled, usd, state, replayed, ord);
end $$;

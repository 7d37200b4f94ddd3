-- Up Migration

-- One hold, or one resolution, by itself. A quiet process has most of its ledger calls one at a time, and what a batch takes
-- (its rows joined, walked through and summed up) is then twice as much as the four rows that one call writes. A plain call
-- has only US dollars to decide about: no diem, no bundled credit, no limit of a key. Every other goes the way of the batches
-- (0017), which decides alike: same locks, same order, same rows.

create function ledger_hold(
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
        and not exists (select from operations o where o.operation_id = hold_id and (o.kind = 'charge') is true)
        and (by_key is null or exists (
          select from api_keys k where k.id = by_key and k.account_id = payer
            and k.parent_id is null and k.limit_usd is null and k.limit_diem is null))
      into plain;
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
  insert into operations (operation_id, kind, account_id, state, day, key_id, price_usd, price_diem,
    held_diem, held_bundled, held_usd, created_at)
  values (hold_id, 'charge', payer, 'held', today, by_key, price, diem_prices[1], 0, 0, price, at);
  insert into holds (operation_id, account_id, expires_at, snapshot)
  values (hold_id, payer, at + ttls_ms[1] * interval '1 millisecond', snapshots[1]);
  outcome := 'held'; part_diem := 0; part_bundled := 0; part_usd := price; state := 'held'; replayed := false;
  return next;
end $$;

-- The way out of holds, one by itself if it is a plain one.
create function ledger_end_holds(
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
  taken bigint;
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

  -- Never more than the hold, whatever the price says.
  taken := least(coalesce(ledger_rest(usd_prices[1], diem_prices[1], 0), 0), r.held_usd);
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
  return next;
end $$;

-- Resolutions and holds of the same moment in one statement (0017), each by itself if it is one.
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
    select o.account_id from operations o where o.operation_id = any (resolve_ids) and (o.kind = 'charge') is true
  )) order by id for no key update;
  return query
    select r.outcome, null::text, r.part_diem, r.part_bundled, r.part_usd, null::text, r.replayed
    from ledger_end_holds(resolve_ids, resolutions, settled_usd, settled_diem, details) r;
  return query
    select h.outcome, h.limited, h.part_diem, h.part_bundled, h.part_usd, h.state, h.replayed
    from ledger_hold(hold_ids, account_ids, key_ids, usd_prices, diem_prices, ttls_ms, snapshots) h;
end $$;

-- No way down: nothing but the time that one call takes differs.

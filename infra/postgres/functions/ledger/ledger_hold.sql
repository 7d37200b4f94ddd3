-- Opens holds. Arguments and results are those of ledger_admit, without `ord`: rows come in the order of the requests.
--
-- Fast path: one request, paid in usd alone. It applies when the account has no diem and no bundled credit, its usd
-- covers the price, and the key has no limit and no parent. It writes the four rows without the joins and sums of a
-- batch, which would double the work, and inserts the operation without a look-up. Every other call goes to
-- ledger_admit, which decides the same with the same locks in the same order.
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
  x ledger_parts;
begin
  if cardinality(operation_ids) = 1 and price > 0 then
    select a.usd_posted - a.usd_held into free_usd
    from accounts a where a.id = payer and a.diem_daily_allocation = 0 and a.bundled_posted = 0 for no key update;
    -- After the lock: a call that waited past midnight belongs to the new day.
    at := ledger_now();
    today := (at at time zone 'UTC')::date;
    if free_usd is not null then
      x := ledger_split(price, diem_prices[1], 0, 0, free_usd, null, null);
      if x.usd = x.due then
        select not exists (select from diem_days d where d.account_id = payer and (d.day = today) is true)
          and (by_key is null or exists (
            select from api_keys k where k.id = by_key and k.account_id = payer
              and k.parent_id is null and k.limit_usd is null and k.limit_diem is null))
        into plain;
      end if;
    end if;
    if plain then
      insert into operations (operation_id, kind, account_id, state, day, key_id, price_usd, price_diem,
        held_diem, held_bundled, held_usd, created_at)
      values (hold_id, 'charge', payer, 'held', today, by_key, price, diem_prices[1], 0, 0, x.usd, at)
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

  update accounts a set usd_held = a.usd_held + x.usd where a.id = payer;
  if by_key is not null then
    insert into key_days as u (key_id, day, usd_held) values (by_key, today, x.usd)
    on conflict (key_id, day) do update set usd_held = u.usd_held + excluded.usd_held;
  end if;
  insert into holds (operation_id, account_id, expires_at, snapshot)
  values (hold_id, payer, at + ttls_ms[1] * interval '1 millisecond', snapshots[1]);
  outcome := 'held'; part_diem := 0; part_bundled := 0; part_usd := x.usd; state := 'held'; replayed := false;
  return next;
end $$;

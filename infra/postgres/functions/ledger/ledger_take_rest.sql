-- Charges a price beyond a hold, once, as operation `<id>:rest`; a repetition returns the first parts. It is the part
-- of a bill above its hold, or the whole bill of a hold that ended without it. It takes as much as free funds and the
-- limits of the key and its parent allow, and belongs to the day on which it is taken. `held_…` are its parts;
-- `price_…` less the parts stays unpaid. No row: there is no such account.
create or replace function ledger_take_rest(
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
  k_usd bigint; k_diem bigint; x ledger_parts;
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
  -- After the lock: a call that waited past midnight belongs to the new day.
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

  x := ledger_split(usd_price, diem_price, free_diem, a.bundled_posted - a.bundled_held, a.usd_posted - a.usd_held,
    k_diem, k_usd);
  part_diem := x.diem; part_bundled := x.bundled; part_usd := x.usd; replayed := false;

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

-- Ends holds. Arguments and results are those of ledger_resolve, without `ord`: rows come in the order of the requests.
--
-- Fast path: one request whose hold is usd alone and has no parent key. One statement reads and changes the operation.
-- Every other call goes to ledger_resolve.
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
  x ledger_parts;
  snapshot jsonb;
  rest record;
begin
  if cardinality(operation_ids) = 1 then
    perform from accounts where id = (select h.account_id from holds h where h.operation_id = hold_id) for no key update;
    -- A hold that is being written at this moment has no row and no lock yet: ledger_resolve decides.
    if found then
      update operations o set state = resolution, diem = 0, bundled = 0,
        usd = (ledger_split(usd_prices[1], diem_prices[1], 0, 0, o.held_usd, null, null)).usd,
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

  delete from holds h where h.operation_id = hold_id returning case
    when details[1] is null then h.snapshot else h.snapshot || details[1] end into snapshot;
  if r.usd > 0 then
    insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    values (ledger_now(), hold_id, 'charge', r.account_id, 'revenue', 'usd', -r.usd, r.day, r.key_id, snapshot);
  end if;
  update accounts a set usd_held = a.usd_held - r.held_usd, usd_posted = a.usd_posted - r.usd where a.id = r.account_id;
  if r.key_id is not null then
    update key_days u set usd_held = u.usd_held - r.held_usd, usd_used = u.usd_used + r.usd
    where u.key_id = r.key_id and u.day = r.day;
  end if;
  outcome := resolution; part_diem := 0; part_bundled := 0; part_usd := r.usd; replayed := false;
  if resolution = 'settled' then
    x := ledger_split(usd_prices[1], diem_prices[1], 0, 0, r.held_usd, null, null);
    if x.usd is distinct from x.due then
      select t.* into rest from ledger_unpaid(usd_prices[1], diem_prices[1], 0, r.usd) p
        cross join ledger_take_rest(hold_id, r.account_id, r.key_id, p.usd, p.diem, ledger_describe_rest(snapshot, hold_id)) t;
      part_diem := rest.part_diem; part_bundled := rest.part_bundled; part_usd := r.usd + rest.part_usd;
    end if;
  end if;
  return next;
end $$;

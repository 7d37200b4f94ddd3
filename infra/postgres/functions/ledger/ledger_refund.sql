-- Undoes a charge, once, up to its amount, into the same currencies and the same day: a diem day of the past gets it
-- back without a change of today's balance. The second operation `<id>:rest` of a bill above its hold is undone with
-- it, by a refund of its own, `<refund id>:rest`. A hold that ended without its bill has its rest alone to give back.
--
-- Given amounts are of both operations together, and the rest goes back first. `part_…` are the sums of both, also when
-- a refund is repeated. Outcomes: refunded, no_charge, conflict.
create or replace function ledger_refund(
  refund_id text, charge_id text, reason text, usd_amount bigint default null, diem_amount bigint default null
) returns table (
  outcome text, first_id text, part_diem bigint, part_bundled bigint, part_usd bigint, replayed boolean
) language plpgsql as $$
#variable_conflict use_column
declare
  at timestamptz;
  c operations;
  r operations;
  f operations;
  back ledger_parts;
begin
  perform 1 from accounts where id = (
    select o.account_id from operations o where o.operation_id = charge_id and o.kind = 'charge'
  ) for no key update;
  select * into c from operations o where o.operation_id = charge_id and o.kind = 'charge';
  select * into r from operations o
    where o.operation_id = charge_id || ':rest' and o.kind = 'charge' and o.state = 'settled';
  if c.state is distinct from 'settled' then
    if r.operation_id is null then
      return query select 'no_charge', null::text, 0::bigint, 0::bigint, 0::bigint, false;
      return;
    end if;
    c := r; r := null; refund_id := refund_id || ':rest';
  end if;
  select * into f from operations o where o.operation_id = coalesce(c.counterpart, refund_id) and o.kind = 'refund';
  if f.operation_id is not null then
    return query
      select case when f.counterpart = c.operation_id then 'refunded' else 'conflict' end, f.operation_id,
        f.diem + coalesce(x.diem, 0), f.bundled + coalesce(x.bundled, 0), f.usd + coalesce(x.usd, 0), true
      from (select r.counterpart as id) q left join operations x on x.operation_id = q.id and x.kind = 'refund';
    return;
  end if;

  at := ledger_now();
  if r.operation_id is null or r.counterpart is not null then
    r.diem := 0; r.bundled := 0; r.usd := 0;
  end if;
  f.usd := c.usd + r.usd; f.bundled := c.bundled + r.bundled; f.diem := c.diem + r.diem;
  if usd_amount is not null then
    -- A refund makes the charge smaller, so its order is the reverse: usd before bundled credit, and diem for the part
    -- that neither of them covers.
    back := ledger_split(usd_amount, diem_amount, 0, f.usd, f.bundled, null, null);
    f.usd := back.bundled; f.bundled := back.usd;
    f.diem := least(f.diem, (select u.diem from ledger_unpaid(usd_amount, diem_amount, 0, f.usd + f.bundled) u));
  end if;
  r.diem := least(r.diem, f.diem); r.bundled := least(r.bundled, f.bundled); r.usd := least(r.usd, f.usd);
  perform ledger_write_refund(refund_id, c, reason, f.diem - r.diem, f.bundled - r.bundled, f.usd - r.usd, at);
  if r.diem + r.bundled + r.usd > 0 then
    perform ledger_write_refund(refund_id || ':rest', r, reason, r.diem, r.bundled, r.usd, at);
  end if;
  return query select 'refunded', refund_id, f.diem, f.bundled, f.usd, false;
end $$;

-- Up Migration

-- A refund gives back all that was taken for a charge: also what its second operation `<id>:rest` took beyond the hold, or
-- after the hold had ended. Each of the two has a refund of its own, `<refund id>` and `<refund id>:rest`, in one transaction.

-- Writes one refund. The caller has the lock of the account, and has made sure that the charge has none.
create function ledger_write_refund(
  refund_id text, c operations, reason text, diem bigint, bundled bigint, usd bigint, at timestamptz
) returns void language plpgsql as $$
#variable_conflict use_variable
begin
  update accounts set usd_posted = usd_posted + usd, bundled_posted = bundled_posted + bundled
    where id = c.account_id and (usd > 0 or bundled > 0);
  update diem_days d set posted = d.posted + diem where d.account_id = c.account_id and d.day = c.day and diem > 0;
  update key_days u set usd_used = u.usd_used - usd - bundled, diem_used = u.diem_used - diem
    where u.key_id in (c.key_id, c.parent_key_id) and u.day = c.day;
  update operations o set counterpart = refund_id where o.operation_id = c.operation_id and o.kind = 'charge';
  insert into operations (operation_id, kind, account_id, state, day, key_id, parent_key_id, diem, bundled, usd,
      counterpart, created_at)
    values (refund_id, 'refund', c.account_id, 'done', c.day, c.key_id, c.parent_key_id, diem, bundled, usd,
      c.operation_id, at);
  insert into transfers (created_at, operation_id, kind, account_id, house, currency, amount, day, key_id, details)
    select at, refund_id, 'refund', c.account_id, 'revenue', m.currency, m.amount, c.day, c.key_id,
      jsonb_build_object('charge', c.operation_id, 'reason', reason)
    from (values ('diem', diem), ('bundled', bundled), ('usd', usd)) m (currency, amount)
    where m.amount > 0;
end $$;

-- Given amounts are of both operations together, and the rest goes back first. `part_…` are the sums of both, also when a
-- refund is repeated. A hold that ended without its bill has its rest alone to give back.
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
  rest bigint;
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
    rest := f.usd + f.bundled;
    f.usd := least(f.usd, usd_amount);
    f.bundled := least(f.bundled, usd_amount - f.usd);
    f.diem := least(f.diem, case
      when usd_amount = 0 then diem_amount
      when rest = 0 then diem_amount
      else div(diem_amount::numeric * (usd_amount - f.usd - f.bundled) + usd_amount - 1, usd_amount) end::bigint);
  end if;
  r.diem := least(r.diem, f.diem); r.bundled := least(r.bundled, f.bundled); r.usd := least(r.usd, f.usd);
  perform ledger_write_refund(refund_id, c, reason, f.diem - r.diem, f.bundled - r.bundled, f.usd - r.usd, at);
  if r.diem + r.bundled + r.usd > 0 then
    perform ledger_write_refund(refund_id || ':rest', r, reason, r.diem, r.bundled, r.usd, at);
  end if;
  return query select 'refunded', refund_id, f.diem, f.bundled, f.usd, false;
end $$;

-- Ends a hold whose answer its client knows to be lost: what is held is released, what was billed is refunded, and a bill
-- that was sent before and comes later takes nothing. The id of the refund is `refund:<id>`.
create function ledger_withdraw(charge_id text, payer uuid, reason text) returns table (
  outcome text, first_id text, part_diem bigint, part_bundled bigint, part_usd bigint, replayed boolean
) language plpgsql as $$
#variable_conflict use_column
declare
  at timestamptz;
begin
  perform from accounts where id = payer for no key update;
  perform from ledger_end_holds(array[charge_id], array['released'], array[0::bigint], array[0::bigint], array[null::jsonb]);
  return query select * from ledger_refund('refund:' || charge_id, charge_id, reason);
  -- A rest that is there already takes nothing (ledger_take_rest).
  at := ledger_now();
  insert into operations (operation_id, kind, account_id, state, day, key_id, parent_key_id, price_usd, price_diem,
      held_diem, held_bundled, held_usd, diem, bundled, usd, created_at)
    select charge_id || ':rest', 'charge', o.account_id, 'released', (at at time zone 'UTC')::date, o.key_id, o.parent_key_id,
      0, 0, 0, 0, 0, 0, 0, 0, at
    from operations o
    where o.operation_id = charge_id and o.kind = 'charge' and o.account_id = payer and o.state <> 'settled'
    on conflict do nothing;
end $$;

-- No way down: refunds of rests are in the books.

-- Undoes a paid call whose client got a timeout: releases its hold or refunds its bill. A later bill takes nothing. The
-- id of the refund is `refund:<id>`. Returns the result of ledger_refund.
create or replace function ledger_withdraw(charge_id text, payer uuid, reason text) returns table (
  outcome text, first_id text, part_diem bigint, part_bundled bigint, part_usd bigint, replayed boolean
) language plpgsql as $$
#variable_conflict use_column
declare
  at timestamptz;
begin
  perform from accounts where id = payer for no key update;
  perform from ledger_end_holds(array[charge_id], array['released'], array[0::bigint], array[0::bigint], array[null::jsonb]);
  return query select * from ledger_refund('refund:' || charge_id, charge_id, reason);
  -- ledger_take_rest takes nothing where its operation exists already.
  at := ledger_now();
  insert into operations (operation_id, kind, account_id, state, day, key_id, parent_key_id, price_usd, price_diem,
      held_diem, held_bundled, held_usd, diem, bundled, usd, created_at)
    select charge_id || ':rest', 'charge', o.account_id, 'released', (at at time zone 'UTC')::date, o.key_id, o.parent_key_id,
      0, 0, 0, 0, 0, 0, 0, 0, at
    from operations o
    where o.operation_id = charge_id and o.kind = 'charge' and o.account_id = payer and o.state <> 'settled'
    on conflict do nothing;
end $$;

-- The part of a price that is left after `paid_diem` and `paid_usd` (with bundled credit): in usd, and in diem where
-- diem can pay it. Rounded up, so that whoever pays it owes nothing.
create or replace function ledger_unpaid(usd_price bigint, diem_price bigint, paid_diem bigint, paid_usd bigint)
returns table (usd bigint, diem bigint) language sql immutable parallel safe as $$
  select r.usd, case
    when diem_price = 0 then 0
    when usd_price = 0 then greatest(diem_price - paid_diem, 0)
    else least(greatest(diem_price - paid_diem, 0), div(diem_price::numeric * r.usd + usd_price - 1, usd_price))::bigint end
  from (select greatest(coalesce(ledger_rest(usd_price, diem_price, paid_diem), 0) - paid_usd, 0) as usd) r
$$;

-- USD price of the part that `paid` diem leaves open: the same proportion, rounded up once. A price without diem is not
-- sold for diem. A price without usd is not sold for usd; the result is then null, unless diem paid all of it.
create or replace function ledger_rest(usd_price bigint, diem_price bigint, paid bigint) returns bigint
language sql immutable parallel safe as $$
  select case
    when diem_price = 0 then usd_price
    when paid >= diem_price then 0
    when usd_price = 0 then null
    when usd_price = diem_price then usd_price - paid
    else div(usd_price::numeric * (diem_price - paid) + diem_price - 1, diem_price)::bigint
  end
$$;

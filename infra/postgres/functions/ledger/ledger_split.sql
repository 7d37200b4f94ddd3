-- The one rule that splits a price over currencies: diem first, then bundled credit, then usd, each as far as it
-- reaches. `room_diem` and `room_usd` are what the limits of keys leave; null is no limit, and the limit in usd counts
-- bundled credit too. `due` is the usd price of what diem does not pay; null: not sold for usd. The price is covered
-- when `bundled + usd = due`.
create or replace function ledger_split(
  usd_price bigint, diem_price bigint, free_diem bigint, free_bundled bigint, free_usd bigint,
  room_diem bigint, room_usd bigint
) returns ledger_parts language plpgsql immutable parallel safe as $$
declare
  parts ledger_parts;
begin
  -- least() passes over nulls.
  parts.diem := greatest(least(diem_price, free_diem, room_diem), 0);
  parts.due := ledger_rest(usd_price, diem_price, parts.diem);
  parts.usd := greatest(least(coalesce(parts.due, 0), free_bundled + free_usd, room_usd), 0);
  parts.bundled := least(parts.usd, free_bundled);
  parts.usd := parts.usd - parts.bundled;
  return parts;
end $$;

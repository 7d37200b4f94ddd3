-- A refund carries the snapshot of its charge, so that a page of entries is one range read. Its units are negative when
-- all of the charge came back. When only the price was lowered, none of the units were undone.
create or replace function describe_refund() returns trigger language plpgsql as $$
declare
  charged operations;
  returned operations;
  snapshot jsonb;
begin
  select * into charged from operations where operation_id = new.details ->> 'charge' and kind = 'charge';
  select * into returned from operations where operation_id = new.operation_id and kind = 'refund';
  -- A direct charge is booked at the time of its operation, the charge of a hold some time later.
  select t.details into snapshot from transfers t
    where t.account_id = new.account_id and t.created_at >= charged.created_at
      and t.kind = 'charge' and t.operation_id = charged.operation_id
    order by t.created_at, t.id limit 1;
  new.sold := snapshot || jsonb_build_object('units', case
    when (returned.diem, returned.bundled, returned.usd) = (charged.diem, charged.bundled, charged.usd)
    then '-' || (snapshot ->> 'units') else '0' end);
  return new;
end $$;

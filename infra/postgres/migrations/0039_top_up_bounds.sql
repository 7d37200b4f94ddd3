-- Up Migration

alter table top_ups
  -- When the chain was first read to have no place for the payment any more; null after a reading that says otherwise.
  add column gone_at timestamptz,
  -- The most that handing it in may cost, in the smallest units of the network's coin, and the UTC day that it counts for.
  -- Null: nothing was handed in at the service's own expense, or certainly nothing was taken.
  add column fee_reserved numeric(40) check (fee_reserved >= 0),
  add column fee_day date,
  add check ((fee_reserved is null) = (fee_day is null));
-- Open and failed payments of a payer, looked at before another one of theirs is taken.
create index top_ups_unpaid on top_ups (payer, changed_at) where state <> 'credited';
-- Fees of a day that bought no credit.
create index top_ups_fees on top_ups (fee_day, network) where fee_day is not null and state <> 'credited';

-- A state only moves forward. `failed` may be wrong where a node lagged: a payment that is on the chain after all is taken
-- up again, with what its payer presented once more.
create or replace function keep_final_top_ups() returns trigger language plpgsql as $$
begin
  if old.state in ('credited', 'wrong') or (old.state = 'failed' and new.state <> 'sent') then
    raise exception 'top-up % is %', old.id, old.state using errcode = 'restrict_violation';
  end if;
  new.changed_at := clock_timestamp();
  return new;
end $$;

grant update (gone_at, fee_reserved, fee_day) on top_ups to farebox_app;

-- Down Migration

create or replace function keep_final_top_ups() returns trigger language plpgsql as $$
begin
  if old.state in ('credited', 'failed', 'wrong') then
    raise exception 'top-up % is %', old.id, old.state using errcode = 'restrict_violation';
  end if;
  new.changed_at := clock_timestamp();
  return new;
end $$;
drop index top_ups_fees, top_ups_unpaid;
alter table top_ups drop column gone_at, drop column fee_reserved, drop column fee_day;

-- A state only moves forward. `failed` may be wrong where a node lagged: a payment that is on the chain after all is
-- taken up again, with what its payer presented once more.
create or replace function keep_final_top_ups() returns trigger language plpgsql as $$
begin
  if old.state in ('credited', 'wrong') or (old.state = 'failed' and new.state <> 'sent') then
    raise exception 'top-up % is %', old.id, old.state using errcode = 'restrict_violation';
  end if;
  new.changed_at := clock_timestamp();
  return new;
end $$;

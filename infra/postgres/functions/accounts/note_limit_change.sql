-- Keeps the former limits of a key. The lock of the account puts the change before or after each admission.
create or replace function note_limit_change() returns trigger language plpgsql as $$
begin
  perform from accounts where id = new.account_id for no key update;
  new.limits_changed_at := ledger_now();
  insert into key_limit_changes (key_id, since, until, limit_usd, limit_diem, limit_period)
    values (old.id, old.limits_changed_at, new.limits_changed_at, old.limit_usd, old.limit_diem, old.limit_period);
  return new;
end $$;

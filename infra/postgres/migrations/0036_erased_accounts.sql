-- Up Migration

-- When the personal data of an account was removed; it stays suspended for ever, and its books stay.
alter table accounts add column erased_at timestamptz,
  add check (erased_at is null or status = 'suspended');

-- The audit trail is append-only but for this: names and descriptions of an erased account.
create or replace function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and current_setting('farebox.erasing', true) = 'on' then return null; end if;
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;

-- Runs as the owner: the role of the services has no right to change the trail, and gets none. What it removes is fixed.
create function erase_audit(account uuid) returns void language plpgsql security definer
set search_path = public, pg_temp as $$
begin
  if not exists (select from accounts where id = account and erased_at is not null) then
    raise exception 'account % is not erased', account using errcode = 'restrict_violation';
  end if;
  perform set_config('farebox.erasing', 'on', true);
  update audit_events set changes = changes - 'name' - 'description' - 'notes'
    where account_id = account and changes ?| array['name', 'description', 'notes'];
  perform set_config('farebox.erasing', 'off', true);
end $$;
revoke execute on function erase_audit from public;
grant execute on function erase_audit to farebox_app;

-- Down Migration

drop function erase_audit;
create or replace function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
alter table accounts drop column erased_at;

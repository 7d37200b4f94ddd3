-- Removes the free text from the acts of an erased account. Runs as the owner: the role of the services may not change
-- the trail. Acts have free text as `name`, `description`, `note` and `notes`.
create or replace function erase_audit(account uuid) returns void language plpgsql security definer
set search_path = public, pg_temp as $$
declare
  words constant text[] := array['name', 'description', 'note', 'notes'];
begin
  if not exists (select from accounts where id = account and erased_at is not null) then
    raise exception 'account % is not erased', account using errcode = 'restrict_violation';
  end if;
  perform set_config('farebox.erasing', 'on', true);
  update audit_events set changes = changes - words where account_id = account and changes ?| words;
  perform set_config('farebox.erasing', 'off', true);
end $$;

revoke execute on function erase_audit from public;
grant execute on function erase_audit to farebox_app;

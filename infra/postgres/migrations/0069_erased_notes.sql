-- Up Migration

-- Removes all words of an erased account's acts: acts name them `name`, `description`, `note` and `notes`.
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

do $$
declare
  erased uuid;
begin
  for erased in select id from accounts where erased_at is not null loop
    perform erase_audit(erased);
  end loop;
end $$;

-- Down Migration

create or replace function erase_audit(account uuid) returns void language plpgsql security definer
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

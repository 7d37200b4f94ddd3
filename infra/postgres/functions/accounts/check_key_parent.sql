-- A child key has no children, so that every call counts against two keys at most. Usage is given back to the parent
-- that it was counted for, so the parent of a key never changes.
create or replace function check_key_parent() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    raise exception 'the parent of a key never changes' using errcode = 'restrict_violation';
  end if;
  if (select parent_id from api_keys where id = new.parent_id) is not null then
    raise exception 'a child key has no children' using errcode = 'check_violation';
  end if;
  return new;
end $$;

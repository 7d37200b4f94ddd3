-- Tells all processes that a key changed, as part of the commit. The payload is the hash of a secret in hex. Replaced
-- secrets and the keys of children are told too, because any process may keep them in memory.
create or replace function notify_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('farebox_keys', encode(k.secret_hash, 'hex')) from api_keys k where k.parent_id = old.id;
  perform pg_notify('farebox_keys', encode(old.secret_hash, 'hex'));
  perform pg_notify('farebox_keys', encode(s.secret_hash, 'hex')) from replaced_secrets s
    where s.key_id = old.id or s.key_id in (select k.id from api_keys k where k.parent_id = old.id);
  return null;
end $$;

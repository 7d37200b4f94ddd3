-- Up Migration

-- Every process that keeps keys in memory listens on this channel: a change of what a key may do is told to all of them
-- as part of the commit that makes it, whoever makes it. The payload is the key's hash in hex, or `account:<id>`.
create function notify_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('farebox_keys', encode(old.secret_hash, 'hex'));
  return null;
end $$;

create trigger key_changed after update of key_type, model_privacy, expires_at, revoked_at, account_id, secret_hash
  on api_keys for each row
  when (
    (old.key_type, old.model_privacy, old.expires_at, old.revoked_at, old.account_id, old.secret_hash)
    is distinct from
    (new.key_type, new.model_privacy, new.expires_at, new.revoked_at, new.account_id, new.secret_hash)
  )
  execute function notify_key_change();

create trigger key_removed after delete on api_keys for each row execute function notify_key_change();

create function notify_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('farebox_keys', 'account:' || old.id);
  return null;
end $$;

create trigger account_changed after update of status on accounts for each row
  when (old.status is distinct from new.status)
  execute function notify_account_change();

-- Down Migration

drop trigger account_changed on accounts;
drop trigger key_removed on api_keys;
drop trigger key_changed on api_keys;
drop function notify_account_change;
drop function notify_key_change;

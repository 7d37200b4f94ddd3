create or replace function notify_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('farebox_keys', 'account:' || old.id);
  return null;
end $$;

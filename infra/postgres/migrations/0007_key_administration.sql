-- Up Migration

-- Which models a key may call, by their ids; null: all that its privacy setting allows.
alter table api_keys add column models text[] check (cardinality(models) between 1 and 100);

-- The key with which it was made; null: by the operator. Creations are limited by counting these rows.
alter table api_keys add column created_by uuid references api_keys;

-- The public API takes limits up to 9,999,999,999 units, more than a bigint of nano units can say. Such a limit stands
-- here as it was given, and limit_… has the highest bigint, which no key can spend.
alter table api_keys
  add column stated_usd numeric check (stated_usd > 0),
  add column stated_diem numeric check (stated_diem > 0),
  add column stated_vcu numeric check (stated_vcu > 0);

-- Active keys of an account are listed and counted; the revoked ones only grow in number.
create index api_keys_active on api_keys (account_id, created_at desc, id) where revoked_at is null;

-- Secrets that a rotation replaced. A past one stays known for an hour only, and is no good in it.
create table replaced_secrets (
  secret_hash bytea primary key check (length(secret_hash) = 32),
  key_id uuid not null references api_keys,
  works_until timestamptz not null
);
create index replaced_secrets_key on replaced_secrets (key_id);

-- Every secret of a changed key is told, because any of them may be in some process's memory.
create or replace function notify_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('farebox_keys', encode(old.secret_hash, 'hex'));
  perform pg_notify('farebox_keys', encode(secret_hash, 'hex')) from replaced_secrets where key_id = old.id;
  return null;
end $$;

drop trigger key_changed on api_keys;
create trigger key_changed after update of key_type, model_privacy, models, expires_at, revoked_at, account_id, secret_hash
  on api_keys for each row
  when (
    (old.key_type, old.model_privacy, old.models, old.expires_at, old.revoked_at, old.account_id, old.secret_hash)
    is distinct from
    (new.key_type, new.model_privacy, new.models, new.expires_at, new.revoked_at, new.account_id, new.secret_hash)
  )
  execute function notify_key_change();

-- Who did what to keys, accounts and credit: written in the transaction of the act. Acts of one account are written
-- under the lock of its row, so that the order of the ids is the order in which they took effect.
create table audit_events (
  id bigint generated always as identity primary key,
  created_at timestamptz not null default ledger_now(),
  account_id uuid not null,
  -- The id of an API key, or `operator`.
  actor text not null check (length(actor) between 1 and 100),
  action text not null check (action ~ '^[a-z_]{1,40}\.[a-z_]{1,40}$'),
  target_id text not null check (length(target_id) between 1 and 200),
  -- Null for what was not asked for over HTTP.
  request_id text,
  changes jsonb not null
);
create index audit_events_account on audit_events (account_id, id desc);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger audit_events_append_only before update or delete or truncate on audit_events
  for each statement execute function refuse_audit_change();

grant select, insert on audit_events to farebox_app;
revoke update, delete, truncate on audit_events from farebox_app;
grant select, insert, update, delete on replaced_secrets to farebox_app;

-- Down Migration

drop table audit_events;
drop function refuse_audit_change;
drop trigger key_changed on api_keys;
create trigger key_changed after update of key_type, model_privacy, expires_at, revoked_at, account_id, secret_hash
  on api_keys for each row
  when (
    (old.key_type, old.model_privacy, old.expires_at, old.revoked_at, old.account_id, old.secret_hash)
    is distinct from
    (new.key_type, new.model_privacy, new.expires_at, new.revoked_at, new.account_id, new.secret_hash)
  )
  execute function notify_key_change();
create or replace function notify_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('farebox_keys', encode(old.secret_hash, 'hex'));
  return null;
end $$;
drop table replaced_secrets;
drop index api_keys_active;
alter table api_keys drop column stated_usd, drop column stated_diem, drop column stated_vcu, drop column created_by,
  drop column models;

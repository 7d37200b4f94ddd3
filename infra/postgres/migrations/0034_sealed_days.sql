-- Up Migration

-- Days of the books that were checked and cannot change any more. The check of the ledger writes a row when a day is over and
-- reads only what came after it from then on; a full check compares the rows with their seal. A transfer belongs to the day
-- of its `created_at`, which never changes: a later refund is an entry of its own day, whatever day it is booked to.
create table sealed_days (
  day date primary key,
  transfers bigint not null check (transfers >= 0),
  operations bigint not null check (operations >= 0),
  -- Moved on that day, by currency and kind, in nano units as decimal strings.
  sums jsonb not null,
  -- SHA-256 over the day's transfers and operations in their order (infra/postgres/ledgerSeals.ts).
  digest bytea not null check (length(digest) = 32),
  -- SHA-256 over the day's rows of sealed_sums in their order.
  sums_digest bytea not null check (length(sums_digest) = 32),
  sealed_at timestamptz not null default clock_timestamp()
);

-- What the transfers of a sealed day come to: by account, key, currency and the day they are booked to.
create table sealed_sums (
  day date not null references sealed_days,
  account_id uuid not null,
  key_id uuid,
  currency text not null,
  booked_day date not null,
  amount numeric not null
);
create index sealed_sums_account on sealed_sums (account_id, booked_day);
create index sealed_sums_day on sealed_sums using brin (day) with (pages_per_range = 16);

-- What an account had at the end of a sealed day on which anything of it moved.
create table sealed_balances (
  account_id uuid not null,
  day date not null references sealed_days,
  usd numeric not null,
  bundled numeric not null,
  vcu numeric not null,
  primary key (account_id, day)
);
create index sealed_balances_day on sealed_balances using brin (day) with (pages_per_range = 16);

create function refuse_seal_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger sealed_days_append_only before update or delete or truncate on sealed_days
  for each statement execute function refuse_seal_change();
create trigger sealed_sums_append_only before update or delete or truncate on sealed_sums
  for each statement execute function refuse_seal_change();
create trigger sealed_balances_append_only before update or delete or truncate on sealed_balances
  for each statement execute function refuse_seal_change();
revoke update, delete, truncate on sealed_days, sealed_sums, sealed_balances from farebox_app;
grant select, insert on sealed_days, sealed_sums, sealed_balances to farebox_app;

-- The check reads by time. Rows come in the order of time, so a summary of each block is enough, and costs a write nothing.
create index transfers_by_time on transfers using brin (created_at) with (pages_per_range = 16, autosummarize = on);
create index operations_by_time on operations using brin (created_at) with (pages_per_range = 16, autosummarize = on);
create index jobs_by_time on jobs (created_at);
create index top_ups_by_change on top_ups (changed_at);

-- The limits that a key had before each change of them, so that what was admitted under them can still be checked.
create table key_limit_changes (
  key_id uuid not null references api_keys,
  since timestamptz not null,
  until timestamptz not null,
  limit_usd bigint,
  limit_diem bigint,
  limit_period text not null
);
create index key_limit_changes_by_time on key_limit_changes (until);
revoke update, delete, truncate on key_limit_changes from farebox_app;
grant select, insert on key_limit_changes to farebox_app;

create or replace function note_limit_change() returns trigger language plpgsql as $$
begin
  perform from accounts where id = new.account_id for no key update;
  new.limits_changed_at := ledger_now();
  insert into key_limit_changes (key_id, since, until, limit_usd, limit_diem, limit_period)
    values (old.id, old.limits_changed_at, new.limits_changed_at, old.limit_usd, old.limit_diem, old.limit_period);
  return new;
end $$;

-- Down Migration

create or replace function note_limit_change() returns trigger language plpgsql as $$
begin
  perform from accounts where id = new.account_id for no key update;
  new.limits_changed_at := ledger_now();
  return new;
end $$;
drop table key_limit_changes;
drop index top_ups_by_change;
drop index jobs_by_time;
drop index operations_by_time;
drop index transfers_by_time;
drop table sealed_balances;
drop table sealed_sums;
drop table sealed_days;
drop function refuse_seal_change;

-- Up Migration

-- A voice that an account had cloned from a sample, by the handle that its requests name it with. The sample is not kept:
-- what stands here is the service's own name for the voice.
create table cloned_voices (
  id text primary key check (id ~ '^vv_[0-9a-f]{32}$'),
  account_id uuid not null references accounts (id),
  model_id text not null,
  service_voice text not null check (length(service_voice) between 1 and 4096),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index cloned_voices_of_account on cloned_voices (account_id, expires_at);
create index cloned_voices_by_end on cloned_voices (expires_at);
grant select, insert, delete on cloned_voices to farebox_app;

-- Down Migration

drop table cloned_voices;

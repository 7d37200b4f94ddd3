-- Up Migration

-- Where the events of a job go. Written before the job's workflow is asked, so it refers to no job: an order that is
-- refused takes its row along. The URL may carry secrets: it is read by its owner's own routes and by the delivery only.
create table job_webhooks (
  queue_id uuid primary key,
  account_id uuid not null references accounts (id),
  url text not null check (length(url) between 1 and 2048),
  events text[] not null check (cardinality(events) between 1 and 6),
  created_at timestamptz not null default clock_timestamp()
);
create index job_webhooks_by_age on job_webhooks (created_at);

-- One row per event of a job: its id is the `webhook-id`, its body what every attempt sends, so a receiver that gets it
-- twice sees that it is the same.
create table webhook_deliveries (
  id uuid primary key default gen_random_uuid(),
  queue_id uuid not null references job_webhooks (queue_id) on delete cascade,
  event text not null,
  body text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'gone')),
  created_at timestamptz not null default clock_timestamp(),
  next_attempt_at timestamptz,
  unique (queue_id, event)
);

-- `step` names the step of the workflow that made the attempt: one that is repeated after its attempt was recorded finds
-- it here and does not send again.
create table webhook_attempts (
  delivery_id uuid not null references webhook_deliveries (id) on delete cascade,
  attempt integer not null check (attempt > 0),
  step text not null,
  at timestamptz not null,
  status smallint,
  error text check (error in ('unreachable', 'redirected', 'gone', 'refused')),
  duration_ms integer not null check (duration_ms >= 0),
  primary key (delivery_id, attempt),
  unique (delivery_id, step)
);

-- What an account's events are signed with. The one before signs too until its time is over.
create table webhook_secrets (
  account_id uuid primary key references accounts (id),
  secret bytea not null check (length(secret) between 24 and 64),
  created_at timestamptz not null default clock_timestamp(),
  previous bytea check (length(previous) between 24 and 64),
  previous_until timestamptz,
  check ((previous is null) = (previous_until is null))
);

grant select, insert, delete on job_webhooks to farebox_app;
grant select, insert, update, delete on webhook_deliveries to farebox_app;
grant select, insert, delete on webhook_attempts to farebox_app;
grant select, insert, update on webhook_secrets to farebox_app;

-- Down Migration

drop table webhook_secrets;
drop table webhook_attempts;
drop table webhook_deliveries;
drop table job_webhooks;
